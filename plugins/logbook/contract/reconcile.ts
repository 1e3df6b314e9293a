import type { TransactionOption } from 'mortise/sdk';
import type { OutboxRow } from './outbox.js';

/** An invariant of the tables: two counts that must be equal. */
export interface Invariant {
  readonly id: string;
  readonly ok: boolean;
  readonly left: number;
  readonly right: number;
}

/** An outbox row as reconciliation found it. */
export interface ExaminedRow extends OutboxRow {
  /** Its audit row is missing. */
  readonly isMissing: boolean;
}

/** Examined rows of one status, at most the limit, those without an audit row first. */
export interface ExaminedStatus {
  readonly count: number;
  /** Rows without their audit row. */
  readonly findings: readonly OutboxRow[];
}

export interface ExaminedPending {
  /** Rows examined, stale or not. */
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
 * Compares outbox and audit trail. With `{ trx }` findings are locked until the transaction ends, so that two processes
 * never repair the same one.
 */
export interface ReconcileQueries {
  sent(window: ReconcileWindow, options?: TransactionOption): Promise<ExaminedStatus>;
  dead(window: ReconcileWindow, options?: TransactionOption): Promise<ExaminedStatus>;
  pending(
    window: ReconcileWindow & { readonly staleThresholdSeconds: number },
    options?: TransactionOption,
  ): Promise<ExaminedPending>;
  /** Releases an expired lease. @returns false when the row was renewed, settled or released meanwhile. */
  reschedule(row: OutboxRow, delaySeconds: number, options?: TransactionOption): Promise<boolean>;
  /**
   * Invariants beside those of the reliability report: `3` every expired lease is recorded once, `4` every outbox row is
   * found in the audit trail by its id.
   */
  invariants(options?: TransactionOption): Promise<readonly Invariant[]>;
  /**
   * Pending audit rows.
   *
   * @param asking correlation id of the caller, whose own pending row does not count
   */
  pendingAudits(
    asking: string,
    options?: TransactionOption,
  ): Promise<{ readonly count: number; readonly oldestAgeSeconds: number | null }>;
}
