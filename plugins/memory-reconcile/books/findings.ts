import type { OutboxStatus } from 'mortise/contracts/logbook';

/** Something that does not fit, and what became of it. */
export interface Detail {
  readonly outbox_id: number;
  readonly status: OutboxStatus | 'stale';
  readonly issue: 'missing_audit' | 'stale_lease';
  readonly expected_reason: string;
  readonly fixed: boolean;
  readonly audit_id: string | null;
  readonly error: string | null;
}

/** One status in numbers. */
export interface StatusCount {
  /** Rows looked at. */
  readonly count: number;
  readonly missing_audit: number;
  readonly fixed: number;
}

/** What one round found and did. */
export interface Round {
  readonly scanned: number;
  readonly sent: StatusCount;
  readonly dead: StatusCount;
  readonly stale: StatusCount & { readonly rescheduled: number };
  readonly details: readonly Detail[];
}
