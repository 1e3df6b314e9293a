import type { TransactionOption } from 'mortise/sdk';
import type { OutboxRow } from './outbox.js';

/** A rule that holds of the tables, and what both sides of it count. */
export interface Invariant {
  readonly id: string;
  readonly ok: boolean;
  readonly left: number;
  readonly right: number;
}

/** A row of the outbox as a look at the books found it. */
export interface ExaminedRow extends OutboxRow {
  /** The audit row that must be there is not. */
  readonly isMissing: boolean;
}

/** Rows that were looked at in one status: at most the limit, those without their audit row first. */
export interface ExaminedStatus {
  readonly count: number;
  /** Those without their audit row. */
  readonly findings: readonly OutboxRow[];
}

export interface ExaminedPending {
  /** Rows looked at, stale or not. */
  readonly count: number;
  /** Leases older than the threshold, longest first. */
  readonly stale: readonly ExaminedRow[];
}

export interface ReconcileWindow {
  /** Rows that changed in the last hours. */
  readonly scanWindowHours: number;
  /** Rows per status. */
  readonly limit: number;
}

/**
 * Looks at outbox and audit trail together. With `{ trx }` the findings are locked until the transaction ends, so that
 * two processes never mend the same one.
 */
export interface ReconcileQueries {
  sent(window: ReconcileWindow, options?: TransactionOption): Promise<ExaminedStatus>;
  dead(window: ReconcileWindow, options?: TransactionOption): Promise<ExaminedStatus>;
  pending(
    window: ReconcileWindow & { readonly staleThresholdSeconds: number },
    options?: TransactionOption,
  ): Promise<ExaminedPending>;
  /** Takes a lease away from who let it run out. @returns false when the row was renewed, settled or freed meanwhile. */
  reschedule(row: OutboxRow, delaySeconds: number, options?: TransactionOption): Promise<boolean>;
  /**
   * Rules beside those of the reliability report: `3` every lease that ran out is told of once, `4` every outbox row is
   * found in the audit trail by its id.
   */
  invariants(options?: TransactionOption): Promise<readonly Invariant[]>;
  /**
   * Audit rows that wait to be settled.
   *
   * @param asking correlation id of whoever asks: its own row waits for the answer, and does not count.
   */
  pendingAudits(
    asking: string,
    options?: TransactionOption,
  ): Promise<{ readonly count: number; readonly oldestAgeSeconds: number | null }>;
}
