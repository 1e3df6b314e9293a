import type { TransactionOption } from '../host/database.js';

/** One row of `governance.write_audit`: who asked for what, what was decided and why. */
export interface AuditEntry {
  /** `allow` done as asked, `redirect` done or kept elsewhere, `reject` refused. */
  readonly action: 'allow' | 'redirect' | 'reject';
  /** `<plugin>:<what>`, e.g. `admin:disable`. The memory pipeline uses its own words. */
  readonly operation: string;
  /** Stable code. Plugins use `<plugin>:<code>`. */
  readonly reason: string;
  readonly actorUserId?: string | null;
  readonly principal?: string | null;
  /** The space or thing it is about; null when there is none. */
  readonly targetSpace?: string | null;
  readonly payloadSha?: string | null;
  readonly correlationId?: string | null;
  readonly memoryKey?: string | null;
  /**
   * JSON facts. Never message text or secrets. With a `source` the trail adds `gateway_event`, which tells of every row
   * in the same words; what the writer puts there itself wins.
   */
  readonly evidence?: Readonly<Record<string, unknown>>;
  /** `pending` rows are settled later by {@link AuditService.finalize}. */
  readonly status?: 'pending' | 'success' | 'redirected' | 'failed';
}

export interface AuditRow extends Required<Omit<AuditEntry, 'evidence' | 'status'>> {
  /** Decimal text. */
  readonly auditId: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly status: string;
  readonly evidence: Readonly<Record<string, unknown>>;
}

export interface AuditQuery {
  readonly since?: string;
  readonly until?: string;
  readonly action?: string;
  readonly operation?: string;
  readonly reasonPrefix?: string;
  readonly actor?: string;
  readonly space?: string;
  readonly outboxId?: string;
  readonly correlationId?: string;
  /** 1 to 1,000; 100 when absent. */
  readonly limit?: number;
  readonly cursor?: string;
}

/** The one audit trail. With `{ trx }` a row commits or rolls back with the effect it tells of. */
export interface AuditService {
  /** @returns the id of the row, as decimal text. */
  write(entry: AuditEntry, options?: TransactionOption): Promise<string>;
  /** As {@link write} for each entry, with few statements. @returns the ids, in order. */
  writeMany(entries: readonly AuditEntry[], options?: TransactionOption): Promise<readonly string[]>;
  /** Settles a pending row; false when it was settled already. */
  finalize(
    auditId: string,
    outcome: {
      readonly status: 'success' | 'redirected' | 'failed';
      readonly action: AuditEntry['action'];
      readonly reason: string;
      readonly patch?: Readonly<Record<string, unknown>>;
    },
    options?: TransactionOption,
  ): Promise<boolean>;
  query(
    query: AuditQuery,
    options?: TransactionOption,
  ): Promise<{ readonly rows: readonly AuditRow[]; readonly next: string | null }>;
  /** Rows that wait to be settled and are at least so old, oldest first, with the process that wrote each. */
  pending(
    wanted: { readonly olderThanSeconds: number; readonly limit: number; readonly after?: string | undefined },
    options?: TransactionOption,
  ): Promise<readonly PendingAudit[]>;
  /** Recomputes the hash chain of every writer. */
  verify(): Promise<AuditVerification>;
}

/** An audit row that was not settled yet. */
export interface PendingAudit extends AuditRow {
  /** Instance id of the process that wrote it. */
  readonly instanceId: string;
}

/** What a check of the audit chain found. */
export interface AuditVerification {
  readonly ok: boolean;
  readonly writers: number;
  readonly links: number;
  /**
   * The first bad place: `row_altered`, `row_missing`, `link_altered`, `link_missing`, `truncated`, `not_chained`; null when
   * intact. Of a chain that was cut off, `seq` is the first link that is gone and `auditId` the row before it (empty for none).
   */
  readonly broken: {
    readonly writerId: string;
    readonly seq: number;
    readonly auditId: string;
    readonly problem: string;
  } | null;
}
