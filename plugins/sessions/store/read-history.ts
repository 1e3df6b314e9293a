import type { StoredMessage } from 'mortise/contracts/sessions';
import { type MessageRow, toMessage } from './rows.js';
import type { Store } from './store.js';

/**
 * The rows of a chat that feed the model: of turns that got as far as an assistant row, whatever became of them, and
 * the input of the turn that asks.
 */
export async function readHistory(store: Store, chatId: string, turnId: string): Promise<readonly StoredMessage[]> {
  const { rows } = await store.database.statement<MessageRow>(
    'select * from {realtime.messages} where chat_id = ? order by seq',
    [chatId],
  );
  const answered = new Set<string | null>([turnId, null]);
  for (const row of rows) if (row.role === 'assistant') answered.add(row.turn_id);
  return rows.filter((row) => answered.has(row.turn_id)).map((row) => toMessage(row, store.database.codec));
}
