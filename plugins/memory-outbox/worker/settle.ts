import type { FailedDelivery } from 'mortise/contracts/memory-gateway';
import { createTransactionGroup, type GroupCommit, type Transaction } from 'mortise/sdk';
import type { OutboxDeps } from '../outbox-deps.js';
import { type Attempt, flushAudit } from './attempt.js';
import { judgeFailure, type Verdict } from './failure.js';

/** The outcome that the attempt could not record, because it had lost the row. */
type IntendedAction = 'success' | 'retry' | 'dead' | 'dedup_hit';

interface Conflict {
  readonly attempt: Attempt;
  readonly intended: IntendedAction;
}

/** Records that another worker took these rows over; the attempts have no other effect. */
async function recordConflicts(
  conflicts: readonly Conflict[],
  { logbook, audit }: OutboxDeps,
  trx: Transaction,
): Promise<void> {
  if (conflicts.length === 0) return;
  const ids = conflicts.map(({ attempt }) => attempt.row.outboxId);
  const observed = new Map((await logbook.outbox.byIds(ids, { trx })).map((row) => [row.outboxId, row]));
  const entries = conflicts.map(({ attempt, intended }) => {
    const row = observed.get(attempt.row.outboxId);
    const extra = {
      intended_action: intended,
      observed_status: row?.status ?? null,
      observed_locked_by: row?.lockedBy ?? null,
      observed_last_error: row?.lastError ?? null,
    };
    return flushAudit(attempt, { action: 'redirect', reason: 'outbox_flush_conflict', evidence: { extra } });
  });
  await audit.writeMany(entries, { trx });
}

/** An attempt whose memory is in the backend. */
export interface Delivered {
  readonly kind: 'delivered';
  readonly attempt: Attempt;
  readonly memoryId: string;
  /** The earlier sent row with the same memory; null when this row itself was sent. */
  readonly duplicateOf: number | null;
}

/**
 * Marks outbox and ledger rows as delivered and writes their audit rows; for rows the worker no longer holds, only the
 * conflict is recorded. @returns the acknowledged attempts.
 */
export async function ackRows(
  delivered: readonly Delivered[],
  deps: OutboxDeps,
  trx: Transaction,
): Promise<ReadonlySet<Attempt>> {
  if (delivered.length === 0) return new Set();
  const { logbook, audit, memory } = deps;
  const workerId = delivered[0]?.attempt.workerId ?? '';
  const dropsPayload = !memory.keepsText;
  const acks = delivered.map(({ attempt, memoryId }) => ({ outboxId: attempt.row.outboxId, memoryId, dropsPayload }));
  const acked = await logbook.outbox.ackSentMany(acks, workerId, { trx });
  const done = delivered.filter(({ attempt }) => acked.has(attempt.row.outboxId));
  const entries = done.map(({ attempt, memoryId, duplicateOf }) =>
    flushAudit(attempt, {
      action: 'allow',
      reason: duplicateOf === null ? 'outbox_flush_success' : 'outbox_flush_dedup_hit',
      evidence: { memory_id: memoryId, ...(duplicateOf === null ? {} : { original_outbox_id: duplicateOf }) },
    }),
  );
  if (entries.length > 0) await audit.writeMany(entries, { trx });
  const stored = done.flatMap(({ attempt, memoryId }) => {
    const { memoryKey } = attempt.row;
    if (memoryKey === null) return [];
    return [{ memoryKey, backend: memory.backend, backendMemoryId: memoryId, dropsPayload }];
  });
  await logbook.ledger.activate(stored, { trx });
  const lost = delivered.filter(({ attempt }) => !acked.has(attempt.row.outboxId));
  await recordConflicts(
    lost.map(({ attempt, duplicateOf }) => ({ attempt, intended: duplicateOf === null ? 'success' : 'dedup_hit' })),
    deps,
    trx,
  );
  return new Set(done.map(({ attempt }) => attempt));
}

/**
 * Schedules the next attempt.
 *
 * @param now the database's clock, epoch milliseconds
 * @returns false when the worker no longer held the row
 */
async function retryRow(
  attempt: Attempt,
  verdict: Extract<Verdict, { readonly kind: 'retry' }>,
  now: number,
  deps: OutboxDeps,
  trx: Transaction,
): Promise<boolean> {
  const { error, errorClass, delaySeconds, verifyFirst } = verdict;
  const nextAttemptAt = new Date(now + delaySeconds * 1_000).toISOString();
  const failure = { error, errorClass, nextAttemptAt, verifyFirst };
  if (!(await deps.logbook.outbox.failRetry(attempt.row.outboxId, attempt.workerId, failure, { trx }))) {
    await recordConflicts([{ attempt, intended: 'retry' }], deps, trx);
    return false;
  }
  const evidence = {
    retry_count: attempt.row.retryCount + 1,
    next_attempt_at: nextAttemptAt,
    extra: { last_error: error, error_class: errorClass },
  };
  await deps.audit.write(flushAudit(attempt, { action: 'redirect', reason: 'outbox_flush_retry', evidence }), { trx });
  return true;
}

/** Moves the row to the dead letters with its audit row. @returns false when the worker no longer held it. */
async function moveRowToDeadLetter(
  attempt: Attempt,
  { error, errorClass }: Extract<Verdict, { readonly kind: 'dead' }>,
  deps: OutboxDeps,
  trx: Transaction,
): Promise<boolean> {
  const { logbook, audit } = deps;
  const { row, workerId } = attempt;
  if (!(await logbook.outbox.moveToDeadLetter(row.outboxId, workerId, { error, errorClass }, { trx }))) {
    await recordConflicts([{ attempt, intended: 'dead' }], deps, trx);
    return false;
  }
  if (row.memoryKey !== null) {
    if (error.startsWith('merged_into:')) await logbook.ledger.markMerged(row.memoryKey, row.outboxId, { trx });
    else await logbook.ledger.moveToDeadLetter(row.memoryKey, row.outboxId, { trx });
  }
  const evidence = { retry_count: row.retryCount + 1, extra: { last_error: error, error_class: errorClass } };
  await audit.write(flushAudit(attempt, { action: 'reject', reason: 'outbox_flush_dead', evidence }), { trx });
  return true;
}

/** Records, if the database permits, that it failed while these rows were processed. Their leases expire. */
export async function recordDatabaseError(
  attempts: readonly Attempt[],
  error: unknown,
  { audit, database, log }: OutboxDeps,
): Promise<void> {
  const kind = database.codec.errorKind(error);
  log.error({ err: error, kind, rows: attempts.length }, 'outbox rows could not be settled; their leases will expire');
  const reason = kind === 'timeout' || kind === 'busy' ? 'outbox_flush_db_timeout' : 'outbox_flush_db_error';
  try {
    await audit.writeMany(
      attempts.map((attempt) => flushAudit(attempt, { action: 'redirect', reason, evidence: { extra: { kind } } })),
    );
  } catch (auditError) {
    log.debug({ err: auditError }, 'the database failure could not be audited');
  }
}

/** Result of an attempt, not recorded yet. */
export type Outcome =
  | Delivered
  | { readonly kind: 'undelivered'; readonly attempt: Attempt; readonly failed: FailedDelivery };

/** Final effect on its row. */
type Settled = 'sent' | 'retried' | 'dead' | 'conflicts';

async function settleFailure(
  { attempt, failed }: Extract<Outcome, { readonly kind: 'undelivered' }>,
  now: number,
  deps: OutboxDeps,
  trx: Transaction,
): Promise<Settled> {
  const verdict = judgeFailure(attempt.row, failed, deps.config, { now, random: deps.random() });
  if (verdict.kind === 'dead') return (await moveRowToDeadLetter(attempt, verdict, deps, trx)) ? 'dead' : 'conflicts';
  return (await retryRow(attempt, verdict, now, deps, trx)) ? 'retried' : 'conflicts';
}

/**
 * Records the results of attempts in the caller's transaction: deliveries in a few statements for all, failures one by
 * one. @returns the effect on each row, in order.
 */
async function settleAttempts(
  outcomes: readonly Outcome[],
  deps: OutboxDeps,
  trx: Transaction,
): Promise<readonly Settled[]> {
  const delivered = outcomes.filter((outcome) => outcome.kind === 'delivered');
  const acked = await ackRows(delivered, deps, trx);
  const now = delivered.length === outcomes.length ? 0 : await deps.logbook.outbox.clock({ trx });
  const settled: Settled[] = [];
  for (const outcome of outcomes) {
    if (outcome.kind === 'undelivered') settled.push(await settleFailure(outcome, now, deps, trx));
    else settled.push(acked.has(outcome.attempt) ? 'sent' : 'conflicts');
  }
  return settled;
}

/** Records results of attempts; those that end while a transaction is running share the next one. */
export type Settler = Pick<GroupCommit<Outcome, Settled>, 'submit'>;

/** Rows per transaction: a few batches of a backend that accepts many. */
const MAX_SETTLEMENT = 400;

/** An outbox row, its ledger row and its audit row always change in one transaction. */
export function createSettler(deps: OutboxDeps): Settler {
  return createTransactionGroup<Outcome, Settled>(
    deps.database,
    (outcomes, trx) => settleAttempts(outcomes, deps, trx),
    { largest: MAX_SETTLEMENT },
  );
}
