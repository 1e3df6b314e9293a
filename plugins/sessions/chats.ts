import type { Chat, DeleteChatsOptions, SessionRef } from 'mortise/contracts/sessions';
import type { Transaction } from 'mortise/sdk';
import { endTurns, type RunningTurns } from './cancel-turns.js';
import { sessionError } from './errors.js';
import { deleteChat, insertChat, readChat, readCurrentChat } from './store/chat-rows.js';
import { ensureSession, makeCurrent, makeCurrentIfNone, replaceCurrent } from './store/session-row.js';
import { asSession, type Session, type Store } from './store/store.js';

/** The chat that exists from the first start on and cannot be deleted. */
export const defaultChat = {
  id: 'chat-default',
  name: 'Default Chat',
  session: { channel: 'console', userId: 'demo-user', sessionId: 'session-default' } satisfies SessionRef,
  meta: { system_default: true },
} as const;

/** Creates the default chat if its row is missing; it becomes current if its session has no current chat. */
export function ensureDefaultChat(store: Store): Promise<void> {
  return store.database.transaction(async (trx) => {
    const session = asSession(defaultChat.session);
    await ensureSession(store, session, trx);
    if (!(await readChat(store, defaultChat.id, trx))) await insertChat(store, session, defaultChat, trx);
    await makeCurrentIfNone(store, session.key, defaultChat.id, trx);
  });
}

interface ChatToSave {
  readonly id?: string | undefined;
  readonly name: string;
  readonly session: Chat['session'];
  readonly meta: Readonly<Record<string, unknown>>;
}

/**
 * Creates a chat or overwrites the one of that id, whose history, turns and creation time stay; it becomes the current
 * chat of its session. A chat that has messages cannot move to another session: its rows are numbered there.
 *
 * @throws invalid_chat
 */
export async function saveChat(store: Store, chat: ChatToSave): Promise<Chat> {
  return store.database.transaction(async (trx) => {
    const existing = chat.id === undefined ? undefined : await readChat(store, chat.id, trx);
    const wanted = chat.id === defaultChat.id ? protectDefault(chat) : chat;
    const session = asSession(wanted.session);
    await ensureSession(store, session, trx);
    if (!existing) {
      const created = await insertChat(store, session, { ...wanted, ...(wanted.id ? { id: wanted.id } : {}) }, trx);
      await makeCurrent(store, session.key, created.id, trx);
      return created;
    }
    if (existing.sessionKey !== session.key) await leaveSession(store, existing, trx);
    return overwrite(store, existing.id, session, wanted, trx);
  });
}

function protectDefault(chat: ChatToSave): ChatToSave {
  const { name, session, meta } = defaultChat;
  return { id: defaultChat.id, name, session, meta: { ...chat.meta, ...meta } };
}

async function leaveSession(store: Store, chat: Chat, trx: Transaction): Promise<void> {
  // Messages that were imported or recorded have no turn.
  const { rows } = await store.database.statement(
    `select 1 as found where exists (select 1 from {realtime.turns} where chat_id = ?)
       or exists (select 1 from {realtime.messages} where chat_id = ?)`,
    [chat.id, chat.id],
    { trx },
  );
  if (rows.length > 0) {
    throw sessionError('invalid_chat', {
      message: 'session_id, user_id and channel of a chat with messages cannot change',
      details: { chat_id: chat.id },
    });
  }
  await replaceCurrent(store, chat.sessionKey, chat.id, trx);
}

async function overwrite(
  store: Store,
  id: string,
  session: Session,
  wanted: ChatToSave,
  trx: Transaction,
): Promise<Chat> {
  const { database } = store;
  await database.statement(
    `update {realtime.chats} set session_id = ?, name = ?, meta = ?, updated_at = ${database.now.millis} where id = ?`,
    [session.key, wanted.name, database.codec.json(wanted.meta), id],
    { trx },
  );
  await makeCurrent(store, session.key, id, trx);
  const saved = await readChat(store, id, trx);
  if (!saved) throw sessionError('store_error');
  return saved;
}

/** How long a running turn may take to end before its chat is removed, milliseconds. */
const patienceMs = 2_000;

/** Ends running turns, then removes the chats, all in one transaction. Unknown ids are ignored. */
export async function removeChats(
  store: Store,
  running: RunningTurns,
  chatIds: readonly string[],
  options: DeleteChatsOptions = {},
): Promise<number> {
  for (const chatId of chatIds) await endTurns(store, running, chatId, patienceMs);
  return store.database.transaction(async (trx) => {
    let removed = 0;
    for (const chatId of chatIds) {
      const chat = await readChat(store, chatId, trx);
      if (chat && (await deleteChat(store, chat, trx, options))) removed += 1;
    }
    return removed;
  });
}

/**
 * Removes the session's current chat, so that the next turn starts a new one even where the session has other chats.
 * The default chat is created again at once, empty.
 */
export async function startAnew(store: Store, running: RunningTurns, ref: SessionRef): Promise<void> {
  const session = asSession(ref);
  const chat = await readCurrentChat(store, session.key);
  if (!chat) return;
  await endTurns(store, running, chat.id, patienceMs);
  await store.database.transaction(async (trx) => {
    await deleteChat(store, chat, trx);
    await makeCurrent(store, session.key, null, trx);
  });
  if (chat.id === defaultChat.id) await ensureDefaultChat(store);
}
