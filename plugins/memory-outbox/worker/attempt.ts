import { type OutboxRow, outboxAudit } from 'mortise/contracts/logbook';
import type { AuditEntry } from 'mortise/sdk';

/** One attempt of one worker to deliver a row. */
export interface Attempt {
  readonly row: OutboxRow;
  readonly workerId: string;
  readonly attemptId: string;
}

type Flush = Pick<AuditEntry, 'action' | 'reason' | 'evidence'>;

/** An audit row for an attempt, with the principal, actor and correlation id of the memory. */
export function flushAudit({ row, workerId, attemptId }: Attempt, { action, reason, evidence }: Flush): AuditEntry {
  return outboxAudit(row, {
    operation: 'outbox_flush',
    source: 'outbox_worker',
    action,
    reason,
    evidence: { worker_id: workerId, attempt_id: attemptId, ...evidence },
  });
}

/** Rows by result. */
export interface Tally {
  claimed: number;
  /** Now in the backend, including memories that were there before. */
  sent: number;
  retried: number;
  dead: number;
  /** Taken over by another worker. */
  conflicts: number;
  /** Not recorded because the database failed; their leases expire. */
  errors: number;
}

export function emptyTally(): Tally {
  return { claimed: 0, sent: 0, retried: 0, dead: 0, conflicts: 0, errors: 0 };
}

export function addTally(sum: Tally, more: Partial<Tally>): void {
  for (const name of ['claimed', 'sent', 'retried', 'dead', 'conflicts', 'errors'] as const)
    sum[name] += more[name] ?? 0;
}

/** Whether any row failed. */
export function hasFailures({ retried, dead, conflicts, errors }: Tally): boolean {
  return retried + dead + conflicts + errors > 0;
}
