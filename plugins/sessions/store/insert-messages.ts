import type { NewMessage, StoredMessage } from 'mortise/contracts/sessions';
import type { BatchStatement, Transaction } from 'mortise/sdk';
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
  const rows = messageRows(place, messages);
  const results = await store.database.batch(
    rows.map((row) => insertOf(store, row)),
    { trx },
  );
  return rows.map((row, index) => ({ ...row, createdAt: Number(results[index]?.rows[0]?.created_at ?? Date.now()) }));
}

/** Statements that write rows, for a batch with others. */
export function messageInserts(
  store: Store,
  place: MessagePlace,
  messages: readonly NewMessage[],
): readonly BatchStatement[] {
  return messageRows(place, messages).map((row) => insertOf(store, row));
}

type Row = Omit<StoredMessage, 'createdAt'>;

function messageRows(place: MessagePlace, messages: readonly NewMessage[]): readonly Row[] {
  const { sessionKey, chatId, turnId, epoch, firstSeq } = place;
  return messages.map((message, index) => ({
    ...message,
    id: newId('msg'),
    sessionKey,
    chatId,
    turnId,
    seq: firstSeq + index,
    status: message.status ?? 'complete',
    epoch,
  }));
}

function insertOf({ database: { codec, now } }: Store, row: Row): BatchStatement {
  const json = (value: unknown): string | null => (value === undefined ? null : codec.json(value));
  return {
    sql: `insert into {realtime.messages} (id, session_id, chat_id, turn_id, seq, role, type, content, parts, tool_calls,
       tool_call_id, status, lease_epoch, meta, created_at)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ${now.millis}) returning created_at`,
    bindings: [
      row.id,
      row.sessionKey,
      row.chatId,
      row.turnId,
      row.seq,
      row.role,
      row.type ?? 'message',
      row.content,
      json(row.parts),
      json(row.toolCalls && writeToolCalls(row.toolCalls)),
      row.toolCallId ?? null,
      row.status,
      row.epoch,
      json(row.meta),
    ],
  };
}
