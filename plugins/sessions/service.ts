import { parseSessionKey, type SessionsService, sessionKey } from 'mortise/contracts/sessions';
import { cancelTurn } from './cancel-turns.js';
import { defaultChat, removeChats, saveChat, startAnew } from './chats.js';
import { sessionError, storing } from './errors.js';
import { modelMessages } from './history-repair.js';
import { withLease } from './lease.js';
import { openTurn, type TurnOpener } from './open-turn.js';
import { listChats, patchChatMeta, readChat, readCurrentChat } from './store/chat-rows.js';
import { readDisplay } from './store/message-rows.js';
import { readRunningTurn, readTurn, readTurnByKey } from './store/read-turns.js';
import { listSessions } from './store/session-row.js';
import { asSession } from './store/store.js';
import { findKeyHolder } from './store/turn-rows.js';

/** The service `sessions`: each member is one operation of the store; database errors become `store_error`. */
export function sessionsService(opener: TurnOpener): SessionsService {
  const { store, running, ttlMs } = opener;
  const { database } = store;
  return {
    key: sessionKey,
    parseKey: parseSessionKey,
    modelMessages,
    openTurn: (request, options) => storing(() => openTurn(opener, request, options)),
    findReplay: (session, idempotency) =>
      storing(async () => {
        const turnId = await findKeyHolder(store, sessionKey(session), idempotency);
        return turnId === undefined ? undefined : readTurn(store, turnId);
      }),
    withLease: (session, run, options) => withLease(store, asSession(session), options?.ttlMs ?? ttlMs, run),
    cancelTurn: (turnId) => storing(() => cancelTurn(store, running, turnId)),
    getTurn: (turnId) => storing(() => readTurn(store, turnId)),
    runningTurn: (session) => storing(() => readRunningTurn(store, sessionKey(session))),
    listSessions: (filter) => storing(() => listSessions(store, filter)),
    turnByKey: (session, key) => storing(() => readTurnByKey(store, sessionKey(session), key)),
    getChat: (chatId, options) => storing(() => readChat(store, chatId, options?.trx)),
    currentChat: (session, options) => storing(() => readCurrentChat(store, sessionKey(session), options?.trx)),
    listChats: (filter) => storing(() => listChats(store, { ...filter, limit: 1_000 })),
    saveChat: ({ name, meta, ...chat }) =>
      storing(() => saveChat(store, { ...chat, name: name ?? 'New Chat', meta: meta ?? {} })),
    patchChatMeta: (chatId, patch, options) =>
      storing(() => database.transaction((trx) => patchChatMeta(store, chatId, patch, trx), options)),
    deleteChats(chatIds, options) {
      const protectedId = chatIds.find((id) => id === defaultChat.id);
      if (protectedId !== undefined) {
        return Promise.reject(sessionError('default_chat_protected', { details: { chat_id: protectedId } }));
      }
      return storing(() => removeChats(store, running, chatIds, options));
    },
    startAnew: (session) => storing(() => startAnew(store, running, session)),
    display: (where, page) =>
      storing(async () => {
        const chatId = 'chatId' in where ? where.chatId : (await readCurrentChat(store, sessionKey(where.session)))?.id;
        if (chatId === undefined) return { messages: [], before: null };
        return readDisplay(store, { chatId, limit: page?.limit ?? 100, beforeSeq: page?.beforeSeq, all: true });
      }),
  };
}
