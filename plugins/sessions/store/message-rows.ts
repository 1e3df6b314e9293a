import type { MessagePage, NewMessage, StoredMessage, TurnStatus } from 'mortise/contracts/sessions';
import { type BatchStatement, newId, type SqlValue, type Transaction } from 'mortise/sdk';
import { answered } from './recent-history.js';
import { type MessageRow, toMessage, writeToolCalls } from './rows.js';
import { allocateFenced, allocateUnfenced } from './session-row.js';
import type { Lease, Session, Store } from './store.js';

/** Appends rows under a lease: numbers and rows in one transaction, so that no number is ever without its row. */
export function appendMessages(
  store: Store,
  lease: Lease,
  place: { readonly chatId: string | null; readonly turnId: string | null },
  messages: readonly NewMessage[],
): Promise<readonly StoredMessage[]> {
  return store.writes.run(async (trx) => {
    const firstSeq = await allocateFenced(store, lease.key, lease.token, messages.length, trx);
    return insertMessages(store, { sessionKey: lease.key, epoch: lease.epoch, firstSeq, ...place }, messages, trx);
  });
}

/** One row without a fence: tests, fixtures and imports only. */
export function importMessage(store: Store, session: Session, message: NewMessage): Promise<readonly StoredMessage[]> {
  return store.database.transaction(async (trx) => {
    const firstSeq = await allocateUnfenced(store, session, trx);
    const place = { sessionKey: session.key, chatId: null, turnId: null, epoch: null, firstSeq };
    return insertMessages(store, place, [message], trx);
  });
}

interface MessagePlace {
  readonly sessionKey: string;
  readonly chatId: string | null;
  readonly turnId: string | null;
  /** Of the writer's lease; null without one. */
  readonly epoch: number | null;
  readonly firstSeq: number;
}

/** Inserts rows with numbers that the same transaction allocated. */
async function insertMessages(
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

/** The inserts of rows, for a batch with other statements. */
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

/**
 * The rows of a chat for the model: those of turns that have an assistant row, whatever their status, and the input of
 * the current turn.
 */
export async function readHistory(store: Store, chatId: string, turnId: string): Promise<readonly StoredMessage[]> {
  const { rows } = await store.database.statement<MessageRow>(
    'select * from {realtime.messages} where chat_id = ? order by seq',
    [chatId],
  );
  return answered(
    rows.map((row) => toMessage(row, store.database.codec)),
    turnId,
  );
}

/** Statuses of the turns that a chat shows by default. */
const shownStatuses: readonly TurnStatus[] = ['completed', 'running', 'step_limit'];

/** The largest value of the column. */
const newest = 2 ** 31 - 1;

interface DisplayQuery {
  readonly chatId: string;
  readonly limit: number;
  readonly beforeSeq?: number | undefined;
  /** False: only the rows of {@link shownStatuses}. */
  readonly all: boolean;
}

/** The newest rows of a chat, oldest first. Always read from the database. */
export async function readDisplay(store: Store, query: DisplayQuery): Promise<MessagePage> {
  const bindings: SqlValue[] = [query.chatId, Math.min(query.beforeSeq ?? newest, newest)];
  if (!query.all) bindings.push(...shownStatuses);
  const { rows } = await store.database.statement<MessageRow & { turn_status: string | null }>(
    `select m.*, t.status as turn_status from {realtime.messages} m left join {realtime.turns} t on t.turn_id = m.turn_id
     where m.chat_id = ? and m.seq < ? ${query.all ? '' : 'and (t.status in (?, ?, ?) or t.status is null)'}
     order by m.seq desc limit ?`,
    [...bindings, query.limit + 1],
  );
  const more = rows.length > query.limit;
  const messages = rows
    .slice(0, query.limit)
    .reverse()
    .map((row) => ({ ...toMessage(row, store.database.codec), turnStatus: row.turn_status as TurnStatus | null }));
  return { messages, before: more ? (messages[0]?.seq ?? null) : null };
}
