import type { AuditEntry, CallContext, TransactionOption } from 'mortise/sdk';

/** The row of a change that a caller has made, with the reason `<plugin>:done`. */
export function changeEntry(
  operation: `${string}:${string}`,
  { principal, correlationId }: Pick<CallContext, 'principal' | 'correlationId'>,
  about: Pick<AuditEntry, 'targetSpace' | 'evidence'>,
): AuditEntry {
  return {
    action: 'allow',
    operation,
    reason: `${operation.slice(0, operation.indexOf(':'))}:done`,
    status: 'success',
    principal: principal.id,
    actorUserId: principal.actor ?? null,
    correlationId,
    targetSpace: null,
    ...about,
  };
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

/** The one audit trail. With `{ trx }` a row commits or rolls back with the effect it records. */
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
  /** A row by its id. */
  get(auditId: string, options?: TransactionOption): Promise<AuditRow | undefined>;
  query(
    query: AuditQuery,
    options?: TransactionOption,
  ): Promise<{ readonly rows: readonly AuditRow[]; readonly next: string | null }>;
  /** Pending rows of at least this age, oldest first, with the process that wrote each. */
  pending(
    wanted: { readonly olderThanSeconds: number; readonly limit: number; readonly after?: string | undefined },
    options?: TransactionOption,
  ): Promise<readonly PendingAudit[]>;
  /** Recomputes the hash chain of every writer. */
  verify(): Promise<AuditVerification>;
}

/** An audit row that is still pending. */
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
   * The first broken place: `row_altered`, `row_missing`, `link_altered`, `link_missing`, `truncated`, `not_chained`; null when
   * intact. For a truncated chain, `seq` is the first missing link and `auditId` the row before it (empty for none).
   */
  readonly broken: {
    readonly writerId: string;
    readonly seq: number;
    readonly auditId: string;
    readonly problem: string;
  } | null;
}
