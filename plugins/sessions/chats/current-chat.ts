import type { Transaction } from 'mortise/sdk';
import type { Store } from '../store/store.js';

export async function makeCurrent(store: Store, sessionKey: string, chatId: string, trx: Transaction): Promise<void> {
  await store.database.statement(
    'update {realtime.sessions} set current_chat_id = ? where id = ?',
    [chatId, sessionKey],
    { trx },
  );
}

/** A session whose current chat went away gets its newest other one, or none. */
export async function replaceCurrent(store: Store, sessionKey: string, gone: string, trx: Transaction): Promise<void> {
  await store.database.statement(
    `update {realtime.sessions} set current_chat_id = (
       select c.id from {realtime.chats} c where c.session_id = ? and c.id <> ?
       order by c.updated_at desc, c.id desc limit 1)
     where id = ? and current_chat_id = ?`,
    [sessionKey, gone, sessionKey, gone],
    { trx },
  );
}
