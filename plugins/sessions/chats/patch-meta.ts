import type { Transaction } from 'mortise/sdk';
import type { Store } from '../store/store.js';
import { mergeMeta } from './meta.js';
import { readChat } from './read-chat.js';

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
