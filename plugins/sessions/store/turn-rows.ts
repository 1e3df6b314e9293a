import type { Idempotency, OpenTurnRequest, TurnOutcome } from 'mortise/contracts/sessions';
import type { BatchStatement, Transaction } from 'mortise/sdk';
import { sessionError } from '../errors.js';
import type { Session, Store } from './store.js';

/** How long a key belongs to its turn, milliseconds. */
const keyLifetimeMs = 24 * 3_600_000;

/**
 * The completed turn that a key belongs to. A turn that did not complete gave its key up when it was closed; a turn
 * that is older than a day loses it here.
 *
 * @throws turn_in_progress, idempotency_conflict
 */
export async function findKeyHolder(
  store: Store,
  sessionKey: string,
  idempotency: Idempotency,
  trx?: Transaction,
): Promise<string | undefined> {
  const now = store.database.now.millis;
  const { rows } = await store.database.statement<{
    turn_id: string;
    status: string;
    body_sha256: string | null;
    age: number;
  }>(
    `select turn_id, status, body_sha256, ${now} - started_at as age from {realtime.turns}
     where session_id = ? and idempotency_key = ?`,
    [sessionKey, idempotency.key],
    { trx },
  );
  const [holder] = rows;
  if (!holder) return undefined;
  if (holder.status === 'running') throw sessionError('turn_in_progress', { details: { turn_id: holder.turn_id } });
  if (holder.age > keyLifetimeMs) {
    await store.database.statement(
      'update {realtime.turns} set idempotency_key = null where turn_id = ?',
      [holder.turn_id],
      { trx },
    );
    return undefined;
  }
  if (holder.body_sha256 !== idempotency.bodySha256) throw sessionError('idempotency_conflict');
  return holder.turn_id;
}

/** Requests the end of a running turn; false when it has ended already. */
export async function requestCancel(store: Store, turnId: string): Promise<boolean> {
  const { changes } = await store.database.statement(
    "update {realtime.turns} set cancel_requested = ? where turn_id = ? and status = 'running'",
    [true, turnId],
  );
  return changes === 1;
}

export async function readCancelRequest(store: Store, turnId: string): Promise<boolean> {
  const { rows } = await store.database.statement<{ cancel_requested: unknown }>(
    'select cancel_requested from {realtime.turns} where turn_id = ?',
    [turnId],
  );
  return rows.length > 0 && store.database.codec.parseFlag(rows[0]?.cancel_requested);
}

/** Running turns of this process whose end was requested, by any process. */
export async function readRequestedCancels(store: Store): Promise<readonly string[]> {
  const { rows } = await store.database.statement<{ turn_id: string }>(
    "select turn_id from {realtime.turns} where status = 'running' and owner = ? and cancel_requested = ?",
    [store.owner, true],
  );
  return rows.map(({ turn_id }) => turn_id);
}

/** A new row of status `running`. */
export function insertTurn(
  store: Store,
  session: Session,
  chatId: string,
  epoch: number,
  request: OpenTurnRequest,
  turnId: string,
): BatchStatement {
  return {
    sql: `insert into {realtime.turns} (turn_id, session_id, chat_id, status, idempotency_key, body_sha256, lease_epoch,
       owner, prompt_mode, provider_id, model, trace_id, correlation_id, started_at)
     values (?, ?, ?, 'running', ?, ?, ?, ?, ?, ?, ?, ?, ?, ${store.database.now.millis})`,
    bindings: [
      turnId,
      session.key,
      chatId,
      request.idempotency?.key ?? null,
      request.idempotency?.bodySha256 ?? null,
      epoch,
      store.owner,
      request.promptMode ?? null,
      request.providerId ?? null,
      request.model ?? null,
      request.traceId,
      request.correlationId,
    ],
  };
}

/** The end of a running turn. One that did not complete gives up its idempotency key. */
export function endTurn({ database }: Store, turnId: string, outcome: TurnOutcome): BatchStatement {
  const { json, truncated } = limitEvents(outcome.events ?? []);
  return {
    sql: `update {realtime.turns} set status = ?, provider_id = coalesce(?, provider_id), model = coalesce(?, model),
       steps = ?, input_tokens = ?, output_tokens = ?, error_code = ?, error_message = ?, events = ?,
       events_truncated = ?, finished_at = ${database.now.millis},
       idempotency_key = case when ? then idempotency_key else null end
     where turn_id = ? and status = 'running'`,
    bindings: [
      outcome.status,
      outcome.providerId ?? null,
      outcome.model ?? null,
      outcome.steps,
      outcome.usage?.inputTokens ?? null,
      outcome.usage?.outputTokens ?? null,
      outcome.error?.code ?? null,
      outcome.error?.message ?? null,
      json,
      truncated,
      outcome.status === 'completed',
      turnId,
    ],
  };
}

/** Whether a turn has ended with this status. */
export async function hasEndedAs(store: Store, turnId: string, status: TurnOutcome['status']): Promise<boolean> {
  const { rows } = await store.database.statement('select 1 from {realtime.turns} where turn_id = ? and status = ?', [
    turnId,
    status,
  ]);
  return rows.length > 0;
}

/** Marks the turn of a worker that lost its claim; the worker writes no other row. */
export async function markFenced(store: Store, turnId: string, steps: number): Promise<void> {
  await store.database.statement(
    `update {realtime.turns} set status = 'fenced', idempotency_key = null, steps = ?, error_code = 'session_fenced',
       error_message = 'The session was taken over by another worker.',
       finished_at = ${store.database.now.millis}
     where turn_id = ? and status in ('running', 'interrupted')`,
    [steps, turnId],
  );
}

/** Ends the turns that a dead owner left running, in the transaction that takes the session over. */
export async function interruptTurns(store: Store, sessionKey: string, trx: Transaction): Promise<void> {
  await store.database.statement(`${interrupt(store)} where session_id = ? and status = 'running'`, [sessionKey], {
    trx,
  });
}

/** Ends running turns whose session is free or has a newer owner, for instance because their owner was fenced and died. */
export async function interruptOrphans(store: Store): Promise<void> {
  await store.database.statement(
    `${interrupt(store)} where status = 'running' and exists (
       select 1 from {realtime.sessions} s where s.id = session_id
         and (s.lock_token is null or s.lease_epoch > {realtime.turns}.lease_epoch))`,
  );
}

/** Every step that the turn had completed has left its row of the model. */
function interrupt({ database }: Store): string {
  return `update {realtime.turns} set status = 'interrupted', idempotency_key = null,
    steps = (select count(*) from {realtime.messages} m
      where m.turn_id = {realtime.turns}.turn_id and m.role = 'assistant'),
    error_code = 'turn_interrupted', error_message = 'The process that ran the turn is gone.',
    finished_at = ${database.now.millis}`;
}

type Event = Readonly<Record<string, unknown>>;

const byteLimit = 64 * 1024;

/**
 * The stored form of a turn's events: at most 64 KiB of JSON. The oldest deltas are dropped first, since the messages
 * contain their text, then the oldest of the rest.
 */
export function limitEvents(events: readonly Event[]): { readonly json: string; readonly truncated: boolean } {
  const whole = JSON.stringify(events);
  if (Buffer.byteLength(whole) <= byteLimit) return { json: whole, truncated: false };
  const sized = events.map((event) => ({ event, bytes: Buffer.byteLength(JSON.stringify(event)) + 1 }));
  let excess = sized.reduce((sum, { bytes }) => sum + bytes, 2) - byteLimit;
  const dropped = new Set<Event>();
  for (const deltas of [true, false]) {
    for (const { event, bytes } of sized) {
      if (excess <= 0) break;
      if (dropped.has(event) || (event.type === 'assistant_delta') !== deltas) continue;
      dropped.add(event);
      excess -= bytes;
    }
  }
  return { json: JSON.stringify(events.filter((event) => !dropped.has(event))), truncated: true };
}
