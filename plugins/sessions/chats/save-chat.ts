import type { Chat } from 'mortise/contracts/sessions';
import type { Transaction } from 'mortise/sdk';
import { sessionError } from '../errors.js';
import { asSession, type Session, type Store } from '../store/store.js';
import { makeCurrent, replaceCurrent } from './current-chat.js';
import { defaultChat } from './default-chat.js';
import { ensureSession } from './ensure-session.js';
import { insertChat } from './insert-chat.js';
import { readChat } from './read-chat.js';

export interface ChatToSave {
  readonly id?: string | undefined;
  readonly name: string;
  readonly session: Chat['session'];
  readonly meta: Readonly<Record<string, unknown>>;
}

/**
 * Creates a chat or overwrites the one of that id, whose history, turns and birth time stay; it becomes the current
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
  const { rows } = await store.database.statement(
    'select 1 as found from {realtime.turns} where chat_id = ? limit 1',
    [chat.id],
    {
      trx,
    },
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
