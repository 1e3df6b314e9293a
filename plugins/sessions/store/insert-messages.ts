import type { NewMessage, StoredMessage, Transaction } from 'mortise/sdk';
import { newId } from '../ids.js';
import { writeToolCalls } from './rows.js';
import type { Store } from './store.js';

export interface MessagePlace {
  readonly sessionKey: string;
  readonly chatId: string | null;
  readonly turnId: string | null;
  /** Of the writer's lease; null without one. */
  readonly epoch: number | null;
  readonly firstSeq: number;
}

/** Writes rows under numbers that the same transaction allocated. */
export async function insertMessages(
  store: Store,
  place: MessagePlace,
  messages: readonly NewMessage[],
  trx: Transaction,
): Promise<readonly StoredMessage[]> {
  const { statement, now, codec } = bound(store);
  const stored: StoredMessage[] = [];
  for (const [index, message] of messages.entries()) {
    const id = newId('msg');
    const seq = place.firstSeq + index;
    const status = message.status ?? 'complete';
    const { rows } = await statement<{ created_at: number }>(
      `insert into {realtime.messages} (id, session_id, chat_id, turn_id, seq, role, type, content, parts, tool_calls,
         tool_call_id, status, lease_epoch, meta, created_at)
       values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ${now}) returning created_at`,
      [
        id,
        place.sessionKey,
        place.chatId,
        place.turnId,
        seq,
        message.role,
        message.type ?? 'message',
        message.content,
        message.parts === undefined ? null : codec.json(message.parts),
        message.toolCalls === undefined ? null : codec.json(writeToolCalls(message.toolCalls)),
        message.toolCallId ?? null,
        status,
        place.epoch,
        message.meta === undefined ? null : codec.json(message.meta),
      ],
      { trx },
    );
    stored.push({
      ...message,
      id,
      sessionKey: place.sessionKey,
      chatId: place.chatId,
      turnId: place.turnId,
      seq,
      status,
      epoch: place.epoch,
      createdAt: rows[0]?.created_at ?? Date.now(),
    });
  }
  return stored;
}

function bound(store: Store) {
  const { database } = store;
  return { statement: database.statement.bind(database), now: database.now.millis, codec: database.codec } as const;
}
