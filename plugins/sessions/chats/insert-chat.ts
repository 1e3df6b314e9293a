import type { Chat } from 'mortise/contracts/sessions';
import type { Transaction } from 'mortise/sdk';
import { newId } from '../ids.js';
import type { Session, Store } from '../store/store.js';

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
