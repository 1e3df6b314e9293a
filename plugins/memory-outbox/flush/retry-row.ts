import type { Transaction } from 'mortise/sdk';
import type { OutboxParts } from '../parts.js';
import { type Attempt, flushAudit } from './flush-audit.js';
import type { Verdict } from './judge-failure.js';
import { noteConflicts } from './note-conflicts.js';

/**
 * Plans the next attempt and says so.
 *
 * @param now the database's clock, epoch milliseconds
 * @returns false when the row was no longer the worker's.
 */
export async function retryRow(
  attempt: Attempt,
  verdict: Extract<Verdict, { readonly kind: 'retry' }>,
  now: number,
  parts: OutboxParts,
  trx: Transaction,
): Promise<boolean> {
  const { error, errorClass, delaySeconds, verifyFirst } = verdict;
  const nextAttemptAt = new Date(now + delaySeconds * 1_000).toISOString();
  const failure = { error, errorClass, nextAttemptAt, verifyFirst };
  if (!(await parts.logbook.outbox.failRetry(attempt.row.outboxId, attempt.workerId, failure, { trx }))) {
    await noteConflicts([{ attempt, intended: 'retry' }], parts, trx);
    return false;
  }
  const evidence = {
    retry_count: attempt.row.retryCount + 1,
    next_attempt_at: nextAttemptAt,
    extra: { last_error: error, error_class: errorClass },
  };
  await parts.audit.write(flushAudit(attempt, { action: 'redirect', reason: 'outbox_flush_retry', evidence }), { trx });
  return true;
}
