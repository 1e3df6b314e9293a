import type { FailureClass, OutboxRow, Sent } from 'mortise/contracts/logbook';
import type { Database, TransactionOption } from 'mortise/sdk';
import { jsonRows, movedNow } from '../sql.js';

/**
 * Marks rows as sent that are pending and leased by the worker. @returns their ids.
 *
 * With `dropsPayload` the text is deleted with the acknowledgement; its hash stays for deduplication.
 *
 * The status is compared as an expression: with the bare column SQLite scans every pending row and the whole list for
 * each, 14 s for 100 of 100,000 rows; looked up by id it takes 0.5 ms.
 */
export async function ackSent(
  database: Database,
  sent: readonly Sent[],
  workerId: string,
  options?: TransactionOption,
): Promise<ReadonlySet<number>> {
  if (sent.length === 0) return new Set();
  const bound = sent.map(({ outboxId, memoryId, dropsPayload }) => ({
    outboxId,
    memoryId,
    drops: dropsPayload === true ? '1' : '0',
  }));
  const { rows } = await database.statement<{ outbox_id: number }>(
    `update {logbook.outbox_memory} as o set status = 'sent', memory_id = k.value->>'memoryId',
       last_error = 'memory_id=' || (k.value->>'memoryId'), last_error_class = null, verify_first = ?,
       payload_md = case when k.value->>'drops' = '1' then '' else o.payload_md end, sent_at = ${database.now.time}, updated_at = ${database.now.time}, locked_at = null, locked_by = null
     from ${jsonRows(database.dialect)} k
     where o.outbox_id = cast(k.value->>'outboxId' as bigint) and coalesce(o.status, '') = 'pending'
       and o.locked_by = ?
     returning outbox_id`,
    [false, JSON.stringify(bound), workerId],
    options,
  );
  return new Set(rows.map(({ outbox_id }) => outbox_id));
}

interface RetryFailure {
  readonly error: string;
  readonly errorClass: FailureClass;
  readonly nextAttemptAt: string;
  readonly verifyFirst: boolean;
}

/** Schedules the next attempt and releases the lease. `unavailable` is counted separately and never leads to `dead`. */
export async function failRetry(
  database: Database,
  outboxId: number,
  workerId: string,
  failure: RetryFailure,
  options?: TransactionOption,
): Promise<boolean> {
  const { error, errorClass, nextAttemptAt, verifyFirst } = failure;
  const { changes } = await database.statement(
    `update {logbook.outbox_memory} set retry_count = retry_count + 1, unavailable_count = unavailable_count + ?,
       last_error = ?, last_error_class = ?, next_attempt_at = ?, verify_first = ?,
       updated_at = ${database.now.time}, locked_at = null, locked_by = null
     where outbox_id = ? and status = 'pending' and locked_by = ?`,
    [
      errorClass === 'unavailable' ? 1 : 0,
      error,
      errorClass,
      database.codec.time(nextAttemptAt),
      verifyFirst,
      outboxId,
      workerId,
    ],
    options,
  );
  return changes > 0;
}

/** Moves a row to the dead letters; it is sent again only on request. */
export async function moveToDeadLetter(
  database: Database,
  outboxId: number,
  workerId: string,
  failure: { readonly error: string; readonly errorClass: FailureClass },
  options?: TransactionOption,
): Promise<boolean> {
  const { changes } = await database.statement(
    `update {logbook.outbox_memory} set status = 'dead', retry_count = retry_count + 1, unavailable_count =
       unavailable_count + ?, last_error = ?, last_error_class = ?, dead_at = ${database.now.time},
       updated_at = ${database.now.time}, locked_at = null, locked_by = null
     where outbox_id = ? and status = 'pending' and locked_by = ?`,
    [failure.errorClass === 'unavailable' ? 1 : 0, failure.error, failure.errorClass, outboxId, workerId],
    options,
  );
  return changes > 0;
}

/** Makes a dead letter pending and due. Its counts restart at zero, or the next failure would kill it again. */
export async function retryDead(database: Database, outboxId: number, options?: TransactionOption): Promise<boolean> {
  const { changes } = await database.statement(
    `update {logbook.outbox_memory} set status = 'pending', retry_count = 0, unavailable_count = 0, dead_at = null,
       next_attempt_at = ${database.now.time}, updated_at = ${database.now.time}
     where outbox_id = ? and status = 'dead'`,
    [outboxId],
    options,
  );
  return changes > 0;
}

/**
 * Makes rows due that wait only because the backend was unavailable. A new row marked `verify_first` keeps its short
 * delay: the backend may still be processing the call that timed out.
 */
export async function makeDue(database: Database, options?: TransactionOption): Promise<number> {
  const { changes } = await database.statement(
    `update {logbook.outbox_memory} set next_attempt_at = ${database.now.time}, updated_at = ${database.now.time}
     where status = 'pending' and last_error_class = 'unavailable' and next_attempt_at > ${database.now.time}
       and (retry_count > 0 or verify_first = ?)`,
    [false],
    options,
  );
  return changes;
}

/**
 * Ends the lease of a row whose worker is gone and schedules its next attempt.
 * @returns false when the row or its lease has changed since it was examined
 */
export async function reschedule(
  database: Database,
  { outboxId, lockedAt }: Pick<OutboxRow, 'outboxId' | 'lockedAt'>,
  delaySeconds: number,
  options?: TransactionOption,
): Promise<boolean> {
  if (lockedAt === null) return false;
  // Stored times may be finer than the milliseconds they are read with.
  const { changes } = await database.statement(
    `update {logbook.outbox_memory} set next_attempt_at = ${movedNow(database)}, locked_at = null, locked_by = null
     where outbox_id = ? and status = 'pending' and locked_at >= ? and locked_at < ?`,
    [delaySeconds, outboxId, database.codec.time(lockedAt), database.codec.time(Date.parse(lockedAt) + 1)],
    options,
  );
  return changes > 0;
}
