import type { Route, SessionsService } from 'mortise/sdk';
import { listChats } from '../chats/list-chats.js';
import { sessionError, storing } from '../errors.js';
import type { Store } from '../store/store.js';
import { readChatBody, readIds } from './chat-body.js';
import { readCursor, readLimit, writeCursor } from './page.js';
import { chatSpec } from './wire.js';

export function listChatsRoute(store: Store): Route {
  return {
    async handle({ query }, ctx) {
      const limit = readLimit(query);
      const cursor = readCursor(query, 'number', 'string');
      const chats = await storing(() =>
        listChats(store, {
          userId: query.get('user_id') ?? undefined,
          channel: query.get('channel') ?? undefined,
          limit: limit + 1,
          after: cursor && { updatedAt: cursor[0], id: cursor[1] },
        }),
      );
      const page = chats.slice(0, limit);
      const last = page.at(-1);
      if (chats.length > limit && last) ctx.setHeader('X-Next-Cursor', writeCursor([last.updatedAt, last.id]));
      return { body: page.map(chatSpec) };
    },
  };
}

export function saveChatRoute(sessions: SessionsService): Route {
  return { handle: async ({ body }) => ({ body: chatSpec(await sessions.saveChat(readChatBody(body))) }) };
}

/** Replaces every member by the body's, even by empty ones. */
export function replaceChatRoute(sessions: SessionsService): Route {
  return {
    async handle({ params, body }) {
      const chatId = params.chat_id ?? '';
      const chat = readChatBody(body);
      if (chat.id !== chatId) throw sessionError('chat_id_mismatch');
      if (!(await sessions.getChat(chatId))) throw chatNotFound(chatId);
      return { body: chatSpec(await sessions.saveChat({ ...chat, name: chat.name ?? '' })) };
    },
  };
}

export function deleteChatRoute(sessions: SessionsService): Route {
  return {
    async handle({ params }) {
      const chatId = params.chat_id ?? '';
      if ((await sessions.deleteChats([chatId])) === 0) throw chatNotFound(chatId);
      return { body: { deleted: true } };
    },
  };
}

export function deleteChatsRoute(sessions: SessionsService): Route {
  return {
    async handle({ body }) {
      await sessions.deleteChats(readIds(body));
      return { body: { deleted: true } };
    },
  };
}

export function chatNotFound(chatId: string) {
  return sessionError('chat_not_found', { details: { chat_id: chatId } });
}
