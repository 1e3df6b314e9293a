import { chatSpec, type SessionsService } from 'mortise/contracts/sessions';
import { boundUser, pageOf, type Route, readCursor, readLimit } from 'mortise/sdk';
import { sessionError, storing } from '../errors.js';
import { listChats } from '../store/chat-rows.js';
import type { Store } from '../store/store.js';
import { readChatBody, readIds } from './chat-body.js';
import { boundChat, chatNotFound, checkActor } from './shared.js';

export function listChatsRoute(store: Store): Route {
  return {
    async handle({ query }, ctx) {
      const limit = readLimit(query.get('limit'));
      const cursor = readCursor(query.get('cursor'), 'number', 'string');
      const userId = query.get('user_id') ?? boundUser(ctx.principal);
      if (userId !== undefined) checkActor(ctx.principal, { userId });
      const chats = await storing(() =>
        listChats(store, {
          userId,
          channel: query.get('channel') ?? undefined,
          limit: limit + 1,
          after: cursor && { updatedAt: cursor[0], id: cursor[1] },
        }),
      );
      return { body: pageOf(chats, limit, ({ updatedAt, id }) => [updatedAt, id], ctx).map(chatSpec) };
    },
  };
}

export function saveChatRoute(sessions: SessionsService): Route {
  return {
    async handle({ body }, { principal }) {
      const chat = readChatBody(body);
      checkActor(principal, chat.session);
      if (boundUser(principal) !== undefined && chat.id !== undefined && (await sessions.getChat(chat.id))) {
        await boundChat(sessions, principal, chat.id);
      }
      return { body: chatSpec(await sessions.saveChat(chat)) };
    },
  };
}

/** Replaces every member by that of the body, even by empty ones. */
export function replaceChatRoute(sessions: SessionsService): Route {
  return {
    async handle({ params, body }, { principal }) {
      const chatId = params.chat_id ?? '';
      const chat = readChatBody(body);
      if (chat.id !== chatId) throw sessionError('chat_id_mismatch');
      checkActor(principal, chat.session);
      await boundChat(sessions, principal, chatId);
      return { body: chatSpec(await sessions.saveChat({ ...chat, name: chat.name ?? '' })) };
    },
  };
}

export function deleteChatRoute(sessions: SessionsService): Route {
  return {
    async handle({ params }, { principal }) {
      const chatId = params.chat_id ?? '';
      if (boundUser(principal) !== undefined) await boundChat(sessions, principal, chatId);
      if ((await sessions.deleteChats([chatId])) === 0) throw chatNotFound(chatId);
      return { body: { deleted: true } };
    },
  };
}

export function deleteChatsRoute(sessions: SessionsService): Route {
  return {
    async handle({ body }, { principal }) {
      const ids = readIds(body);
      const user = boundUser(principal);
      await sessions.deleteChats(user === undefined ? ids : await ownIds(sessions, user, ids));
      return { body: { deleted: true } };
    },
  };
}

/** Ids of other users' chats count as unknown. */
async function ownIds(sessions: SessionsService, user: string, ids: readonly string[]): Promise<readonly string[]> {
  const chats = await Promise.all(ids.map((id) => sessions.getChat(id)));
  return ids.filter((_, index) => chats[index]?.session.userId === user);
}
