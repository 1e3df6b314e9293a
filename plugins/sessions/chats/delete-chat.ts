import type { Transaction } from 'mortise/sdk';
import type { Store } from '../store/store.js';
import { replaceCurrent } from './current-chat.js';

export interface ChatToDelete {
  readonly id: string;
  readonly sessionKey: string;
}

/**
 * Removes a chat with its turns and messages; the session's own row, which carries the lease and the numbers, stays.
 * A turn that is still running on the chat loses its claim, so that a late owner writes nothing.
 *
 * @returns false when it was gone already.
 */
export async function deleteChat(store: Store, chat: ChatToDelete, trx: Transaction): Promise<boolean> {
  const { database } = store;
  // Locks the session first: a turn that opens at the same moment finds either the chat or none.
  await database.statement(
    `update {realtime.sessions} set updated_at = ${database.now.millis} where id = ?`,
    [chat.sessionKey],
    { trx },
  );
  await database.statement(
    `update {realtime.sessions} set lock_token = null, lease_owner = null, processing_since = null, lease_ttl_ms = null,
       lease_expires_at = null
     where id = ? and exists (select 1 from {realtime.turns} t where t.chat_id = ? and t.status = 'running')`,
    [chat.sessionKey, chat.id],
    { trx },
  );
  await database.statement('delete from {realtime.messages} where chat_id = ?', [chat.id], { trx });
  await database.statement('delete from {realtime.turns} where chat_id = ?', [chat.id], { trx });
  await replaceCurrent(store, chat.sessionKey, chat.id, trx);
  const { changes } = await database.statement('delete from {realtime.chats} where id = ?', [chat.id], { trx });
  return changes === 1;
}
