import type { Turn, TurnDetail, TurnStatus } from 'mortise/contracts/sessions';
import type { SqlValue } from 'mortise/sdk';
import { type MessageRow, type TurnRow, toTurn } from './rows.js';
import type { Store } from './store.js';

interface TurnQuery {
  readonly chatId: string;
  readonly status?: TurnStatus | undefined;
  readonly limit: number;
  /** Turns that started before this one. */
  readonly before?: { readonly startedAt: number; readonly turnId: string } | undefined;
}

/** Turns of a chat, newest first. */
export async function readTurns(store: Store, query: TurnQuery): Promise<readonly TurnDetail[]> {
  const bindings: SqlValue[] = [query.chatId];
  if (query.status) bindings.push(query.status);
  if (query.before) bindings.push(query.before.startedAt, query.before.startedAt, query.before.turnId);
  const { rows } = await store.database.statement<TurnRow>(
    `select * from {realtime.turns} where chat_id = ? ${query.status ? 'and status = ?' : ''}
     ${query.before ? 'and (started_at < ? or (started_at = ? and turn_id < ?))' : ''}
     order by started_at desc, turn_id desc limit ?`,
    [...bindings, query.limit],
  );
  return withMessages(store, rows);
}

export async function readTurn(store: Store, turnId: string): Promise<TurnDetail | undefined> {
  const { rows } = await store.database.statement<TurnRow>('select * from {realtime.turns} where turn_id = ?', [
    turnId,
  ]);
  return (await withMessages(store, rows))[0];
}

/** The newest running turn of a session. */
export async function readRunningTurn(store: Store, sessionKey: string): Promise<Turn | undefined> {
  const { rows } = await store.database.statement<TurnRow>(
    "select * from {realtime.turns} where session_id = ? and status = 'running' order by lease_epoch desc limit 1",
    [sessionKey],
  );
  return rows[0] ? toTurn(rows[0]) : undefined;
}

/** The running or completed turn that holds a key. */
export async function readTurnByKey(store: Store, sessionKey: string, key: string): Promise<Turn | undefined> {
  const { rows } = await store.database.statement<TurnRow>(
    'select * from {realtime.turns} where session_id = ? and idempotency_key = ?',
    [sessionKey, key],
  );
  return rows[0] ? toTurn(rows[0]) : undefined;
}

type Text = Pick<MessageRow, 'turn_id' | 'role' | 'content' | 'tool_calls' | 'status'>;

async function withMessages(store: Store, turns: readonly TurnRow[]): Promise<readonly TurnDetail[]> {
  if (turns.length === 0) return [];
  const { database } = store;
  const texts: Text[] = await database
    .query()(database.table('realtime.messages'))
    .select('turn_id', 'role', 'content', 'tool_calls', 'status')
    .whereIn(
      'turn_id',
      turns.map(({ turn_id }) => turn_id),
    )
    .orderBy('seq');
  const byTurn = new Map<string | null, Text[]>();
  for (const text of texts) {
    const list = byTurn.get(text.turn_id);
    if (list) list.push(text);
    else byTurn.set(text.turn_id, [text]);
  }
  return turns.map((row) => {
    const own = byTurn.get(row.turn_id) ?? [];
    const firstAnswer = own.findIndex(({ role, tool_calls }) => role === 'assistant' || tool_calls !== null);
    const input = own.slice(0, firstAnswer < 0 ? own.length : firstAnswer);
    const reply = own.findLast(({ role, tool_calls }) => role === 'assistant' && tool_calls === null);
    return {
      ...toTurn(row),
      input: input.map(({ role, content }) => ({ role, content })),
      reply: reply?.content ?? null,
      events: row.events === null ? [] : database.codec.parseJson<TurnDetail['events']>(row.events),
      eventsTruncated: database.codec.parseFlag(row.events_truncated),
    };
  });
}
