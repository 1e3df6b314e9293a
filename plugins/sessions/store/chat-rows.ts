import type { Chat, DeleteChatsOptions } from 'mortise/contracts/sessions';
import { newId, type SqlValue, type Transaction } from 'mortise/sdk';
import { type ChatRow, toChat } from './rows.js';
import { replaceCurrent, revokeLease } from './session-row.js';
import type { Session, Store } from './store.js';

/** Columns of a chat with the parts of its session. */
const chatColumns = `c.id, c.session_id, c.name, c.meta, c.created_at, c.updated_at,
  s.channel, s.user_id, s.client_session_id`;

export async function readChat(store: Store, chatId: string, trx?: Transaction): Promise<Chat | undefined> {
  const { rows } = await store.database.statement<ChatRow>(
    `select ${chatColumns} from {realtime.chats} c join {realtime.sessions} s on s.id = c.session_id where c.id = ?`,
    [chatId],
    { trx },
  );
  const [row] = rows;
  return row ? toChat(row, store.database.codec) : undefined;
}

/** The chat that a turn of the session would use now. */
export async function readCurrentChat(store: Store, sessionKey: string, trx?: Transaction): Promise<Chat | undefined> {
  const { rows } = await store.database.statement<ChatRow>(
    `select ${chatColumns} from {realtime.sessions} s join {realtime.chats} c on c.id = s.current_chat_id where s.id = ?`,
    [sessionKey],
    { trx },
  );
  const [row] = rows;
  return row ? toChat(row, store.database.codec) : undefined;
}

interface ChatQuery {
  readonly userId?: string | undefined;
  readonly channel?: string | undefined;
  readonly limit: number;
  /** Chats that come after this one in the list. */
  readonly after?: { readonly updatedAt: number; readonly id: string } | undefined;
}

/** Chats, newest first; equal times by id, descending. */
export async function listChats(store: Store, query: ChatQuery): Promise<readonly Chat[]> {
  const conditions: string[] = [];
  const bindings: SqlValue[] = [];
  if (query.userId !== undefined) {
    conditions.push('s.user_id = ?');
    bindings.push(query.userId);
  }
  if (query.channel !== undefined) {
    conditions.push('s.channel = ?');
    bindings.push(query.channel);
  }
  if (query.after) {
    conditions.push('(c.updated_at < ? or (c.updated_at = ? and c.id < ?))');
    bindings.push(query.after.updatedAt, query.after.updatedAt, query.after.id);
  }
  const { rows } = await store.database.statement<ChatRow>(
    `select ${chatColumns} from {realtime.chats} c join {realtime.sessions} s on s.id = c.session_id
     ${conditions.length > 0 ? `where ${conditions.join(' and ')}` : ''}
     order by c.updated_at desc, c.id desc limit ?`,
    [...bindings, query.limit],
  );
  return rows.map((row) => toChat(row, store.database.codec));
}

/** A new chat of a session whose row exists. */
export async function insertChat(
  store: Store,
  session: Session,
  chat: { readonly id?: string; readonly name: string; readonly meta: Readonly<Record<string, unknown>> },
  trx: Transaction,
): Promise<Chat> {
  const { database } = store;
  const id = chat.id ?? newId('chat');
  const { rows } = await database.statement<{ created_at: number }>(
    `insert into {realtime.chats} (id, session_id, name, meta, created_at, updated_at)
     values (?, ?, ?, ?, ${database.now.millis}, ${database.now.millis}) returning created_at`,
    [id, session.key, chat.name, database.codec.json(chat.meta)],
    { trx },
  );
  const at = rows[0]?.created_at ?? Date.now();
  const { channel, userId, sessionId } = session;
  return {
    id,
    name: chat.name,
    session: { channel, userId, sessionId },
    sessionKey: session.key,
    meta: chat.meta,
    createdAt: at,
    updatedAt: at,
  };
}

/** Merges members into a chat's meta; false for an unknown chat. The caller gives the transaction. */
export async function patchChatMeta(
  store: Store,
  chatId: string,
  patch: Readonly<Record<string, unknown>>,
  trx: Transaction,
): Promise<boolean> {
  const { database } = store;
  // Taken first as a write, so that on PostgreSQL two patches of one chat do not read the same old value.
  const { changes } = await database.statement('update {realtime.chats} set meta = meta where id = ?', [chatId], {
    trx,
  });
  const chat = changes === 0 ? undefined : await readChat(store, chatId, trx);
  if (!chat) return false;
  await database.statement(
    `update {realtime.chats} set meta = ?, updated_at = ${database.now.millis} where id = ?`,
    [database.codec.json(mergeMeta(chat.meta, patch)), chatId],
    { trx },
  );
  return true;
}

type Meta = Readonly<Record<string, unknown>>;

/** Members of the patch win; one that is undefined is removed. */
export function mergeMeta(meta: Meta, patch: Meta): Meta {
  return Object.fromEntries(Object.entries({ ...meta, ...patch }).filter(([, value]) => value !== undefined));
}

interface ChatToDelete {
  readonly id: string;
  readonly sessionKey: string;
}

/**
 * Removes a chat, with its turns and messages unless they are kept; the session's own row, which carries the lease and the numbers, stays.
 * A turn that still runs on the chat loses its claim.
 *
 * @returns false when it was deleted already.
 */
export async function deleteChat(
  store: Store,
  chat: ChatToDelete,
  trx: Transaction,
  { keepTurns = false }: DeleteChatsOptions = {},
): Promise<boolean> {
  const { database } = store;
  await revokeLease(store, chat.sessionKey, chat.id, trx);
  if (!keepTurns) {
    await database.statement('delete from {realtime.messages} where chat_id = ?', [chat.id], { trx });
    await database.statement('delete from {realtime.turns} where chat_id = ?', [chat.id], { trx });
  }
  await replaceCurrent(store, chat.sessionKey, chat.id, trx);
  const { changes } = await database.statement('delete from {realtime.chats} where id = ?', [chat.id], { trx });
  return changes === 1;
}
