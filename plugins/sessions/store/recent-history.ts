import type { ChatSummary, HistoryLimit, RecentHistory, StoredMessage } from 'mortise/contracts/sessions';
import { sessionError } from '../errors.js';
import { type MessageRow, toMessage } from './rows.js';
import type { Lease, Store } from './store.js';

/** Rows of the first page; each further one is twice as long, up to the last. */
const firstPage = 64;
const lastPage = 1_024;

/** Beside the oldest turn, which may be incomplete, and the current one. */
const wholeTurns = 2;

/**
 * The rows of a chat for the model, read from the newest back until they exceed the limit: those after the stored summary,
 * of turns that have an assistant row, and the input of the current turn. At least two whole earlier turns are read.
 */
export async function readRecentHistory(
  store: Store,
  chatId: string,
  turnId: string,
  { budget, sizeOf }: HistoryLimit,
): Promise<RecentHistory> {
  const { summary, after } = await readSummary(store, chatId);
  const newestFirst: StoredMessage[] = [];
  const turns = new Set<string>();
  let left = budget;
  let userRows = 0;
  for (let page = firstPage; ; page = Math.min(page * 2, lastPage)) {
    const rows = await readPage(store, chatId, after, newestFirst.at(-1)?.seq, page);
    for (const row of rows) {
      newestFirst.push(row);
      left -= sizeOf(row);
      if (row.turnId !== null) turns.add(row.turnId);
      else if (row.role === 'user') userRows += 1;
    }
    if (rows.length < page) return { messages: answered(newestFirst.reverse(), turnId), summary, omitted: 0 };
    if (left < 0 && turns.size + userRows >= wholeTurns + 2) break;
  }
  const messages = wholeTurnsOf(newestFirst.reverse());
  const omitted = await countTurns(store, chatId, after, messages[0]?.seq ?? after);
  return { messages: answered(messages, turnId), summary, omitted };
}

async function readSummary(store: Store, chatId: string) {
  const { rows } = await store.database.statement<{ summary: string | null; summary_seq: number | null }>(
    'select summary, summary_seq from {realtime.chats} where id = ?',
    [chatId],
  );
  return { summary: rows[0]?.summary ?? undefined, after: rows[0]?.summary_seq ?? -1 };
}

async function readPage(
  { database }: Store,
  chatId: string,
  after: number,
  before: number | undefined,
  limit: number,
): Promise<readonly StoredMessage[]> {
  const { rows } = await database.statement<MessageRow>(
    `select * from {realtime.messages} where chat_id = ? and seq > ? ${before === undefined ? '' : 'and seq < ?'}
     order by seq desc limit ?`,
    before === undefined ? [chatId, after, limit] : [chatId, after, before, limit],
  );
  return rows.map((row) => toMessage(row, database.codec));
}

/** Without the rows of the oldest turn, of which some may not have been read; `rows` are oldest first. */
function wholeTurnsOf(rows: readonly StoredMessage[]): readonly StoredMessage[] {
  const oldest = rows[0]?.turnId;
  const begin = rows.findIndex(({ turnId, role }, at) =>
    at > 0 && oldest === null && turnId === null ? role === 'user' : turnId !== oldest,
  );
  return begin < 0 ? rows : rows.slice(begin);
}

/** Only the rows of turns that have an assistant row, whatever their status, and those of the current turn. */
export function answered(rows: readonly StoredMessage[], turnId: string): readonly StoredMessage[] {
  const turns = new Set<string | null>([turnId, null]);
  for (const row of rows) if (row.role === 'assistant') turns.add(row.turnId);
  return rows.filter((row) => turns.has(row.turnId));
}

/** Answered turns between two numbers, without reading their rows; rows without a turn are one per user message. */
async function countTurns({ database }: Store, chatId: string, after: number, before: number): Promise<number> {
  const { rows } = await database.statement<{ turns: number }>(
    `select count(distinct case when role = 'assistant' then turn_id end)
       + count(case when turn_id is null and role = 'user' then 1 end) as turns
     from {realtime.messages} where chat_id = ? and seq > ? and seq < ?`,
    [chatId, after, before],
  );
  return Number(rows[0]?.turns ?? 0);
}

/** Stores a summary of all rows up to a number. @throws `session_fenced` when the claim is lost */
export async function storeSummary(
  { database }: Store,
  lease: Lease,
  chatId: string,
  { text, throughSeq }: ChatSummary,
): Promise<void> {
  const { changes } = await database.statement(
    `update {realtime.chats} set summary = ?, summary_seq = ?
     where id = ? and exists (select 1 from {realtime.sessions} where id = ? and lock_token = ?)`,
    [text, throughSeq, chatId, lease.key, lease.token],
  );
  if (changes !== 1) throw sessionError('session_fenced');
}
