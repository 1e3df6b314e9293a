import type { AuditEntry, Disposable, TransactionOption } from 'mortise/sdk';

/**
 * `pending`: waiting for the backend, leased or not; `sent`: the backend has it; `dead`: the backend refused it for good,
 * or too often. A dead row becomes pending again only on request.
 */
export type OutboxStatus = 'pending' | 'sent' | 'dead';

/**
 * `unavailable`: the backend cannot be reached, which never kills a row; `failure`: it answered with an error, which kills
 * a row after too many attempts; `permanent`: retrying is useless.
 */
export type FailureClass = 'unavailable' | 'failure' | 'permanent';

/** A memory that the backend could not accept. */
export interface NewOutboxRow {
  readonly memoryKey: string;
  readonly space: string;
  readonly requestedSpace: string | null;
  readonly payload: string;
  readonly payloadSha: string;
  readonly metaSha: string;
  readonly kind: string | null;
  readonly meta: Readonly<Record<string, unknown>>;
  readonly evidence: readonly Readonly<Record<string, unknown>>[];
  readonly actorUserId: string | null;
  /** Id of the principal whose call stored the memory; null for a manually inserted row. */
  readonly principal: string | null;
  readonly itemId: number | null;
  readonly correlationId: string | null;
  readonly status: 'pending' | 'dead';
  readonly lastError: string | null;
  readonly lastErrorClass: FailureClass | null;
  /** It is unknown whether the backend has it: look it up before sending again. */
  readonly verifyFirst: boolean;
  /** Seconds from now until it is due. */
  readonly delaySeconds: number;
}

export interface OutboxRow extends Omit<NewOutboxRow, 'status' | 'delaySeconds' | 'memoryKey'> {
  readonly outboxId: number;
  readonly status: OutboxStatus;
  /** Null for a manually inserted row. */
  readonly memoryKey: string | null;
  readonly retryCount: number;
  /** Retries that do not count towards `dead`. */
  readonly unavailableCount: number;
  /** ISO 8601, like all times of the row. */
  readonly nextAttemptAt: string;
  readonly lockedBy: string | null;
  readonly lockedAt: string | null;
  /** The backend's id, once it was sent. */
  readonly memoryId: string | null;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly sentAt: string | null;
  readonly deadAt: string | null;
}

/** A row that the claiming worker now holds. */
export interface ClaimedRow extends OutboxRow {
  /** The expired lease that was taken over; null for a free row. */
  readonly takenOverFrom: { readonly lockedBy: string | null; readonly lockedAt: string } | null;
}

export interface ClaimRequest {
  readonly workerId: string;
  readonly batchSize: number;
  readonly leaseSeconds: number;
  /** Rows that the worker still processes and must not receive again, even if their lease expired. */
  readonly except?: readonly number[];
}

export interface OutboxClaim {
  readonly rows: readonly ClaimedRow[];
  /** The database's clock at the claim, epoch milliseconds. */
  readonly now: number;
}

export interface OutboxQuery {
  readonly status?: OutboxStatus | undefined;
  readonly space?: string | undefined;
  /** ISO 8601: rows that changed since. */
  readonly since?: string | undefined;
  /** 1 to 1,000; 100 when absent. */
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

/** A delivered row; recorded only while the worker still holds its lease. */
export interface Sent {
  readonly outboxId: number;
  readonly memoryId: string;
  /** Deletes the text and keeps its hash. */
  readonly dropsPayload?: boolean;
}

/**
 * Memories that wait for the backend. Every change is one guarded statement: when the row is no longer the caller's to
 * change, `boolean` methods return false and list methods leave it out.
 */
export interface Outbox {
  enqueueMemory(row: NewOutboxRow, options?: TransactionOption): Promise<number>;
  /** The first sent memory with the same space, text and meta. */
  checkDedup(
    space: string,
    payloadSha: string,
    metaSha?: string,
    options?: TransactionOption,
  ): Promise<{ readonly outboxId: number; readonly memoryId: string | null } | null>;
  /** As {@link checkDedup} for many rows at once. @returns what was sent, by the id of the row that repeats it. */
  findSent(
    outboxIds: readonly number[],
    options?: TransactionOption,
  ): Promise<ReadonlyMap<number, { readonly outboxId: number; readonly memoryId: string | null }>>;
  /**
   * Leases due rows, oldest first, that are free or whose lease has expired. No row is leased while another with the same
   * space, text and meta is.
   */
  claimOutbox(wanted: ClaimRequest, options?: TransactionOption): Promise<OutboxClaim>;
  /** @returns the rows that the worker still holds. */
  renewLeases(
    outboxIds: readonly number[],
    workerId: string,
    options?: TransactionOption,
  ): Promise<ReadonlySet<number>>;
  renewLease(outboxId: number, workerId: string, options?: TransactionOption): Promise<boolean>;
  /** Releases rows in the state they had before the claim. */
  releaseLeases(
    held: readonly { readonly outboxId: number; readonly verifyFirst: boolean }[],
    workerId: string,
    options?: TransactionOption,
  ): Promise<void>;
  ackSent(outboxId: number, workerId: string, memoryId: string, options?: TransactionOption): Promise<boolean>;
  /** @returns the rows that were acknowledged. */
  ackSentMany(sent: readonly Sent[], workerId: string, options?: TransactionOption): Promise<ReadonlySet<number>>;
  failRetry(
    outboxId: number,
    workerId: string,
    failure: {
      readonly error: string;
      readonly errorClass: FailureClass;
      /** ISO 8601. */
      readonly nextAttemptAt: string;
      /** The backend may already have it. */
      readonly verifyFirst: boolean;
    },
    options?: TransactionOption,
  ): Promise<boolean>;
  moveToDeadLetter(
    outboxId: number,
    workerId: string,
    failure: { readonly error: string; readonly errorClass: FailureClass },
    options?: TransactionOption,
  ): Promise<boolean>;
  /** Makes a dead row pending and due, with its counts reset. */
  retryDead(outboxId: number, options?: TransactionOption): Promise<boolean>;
  /** Makes rows due that wait only because the backend was unavailable. @returns how many. */
  makeDue(options?: TransactionOption): Promise<number>;
  get(outboxId: number, options?: TransactionOption): Promise<OutboxRow | null>;
  byIds(outboxIds: readonly number[], options?: TransactionOption): Promise<readonly OutboxRow[]>;
  /** Newest first. @throws MortiseError `invalid_outbox_query` (400). */
  list(
    query: OutboxQuery,
    options?: TransactionOption,
  ): Promise<{ readonly rows: readonly OutboxRow[]; readonly next: string | null }>;
  /** The database's clock, epoch milliseconds. */
  clock(options?: TransactionOption): Promise<number>;
  /** Called when rows may have been added by any process; a hint. */
  onRows(run: () => void): Promise<Disposable>;
}

const statuses = { allow: 'success', redirect: 'redirected', reject: 'failed' } as const;

interface OutboxAudit extends Pick<AuditEntry, 'operation' | 'action' | 'reason' | 'evidence'> {
  /** What writes the row, as its evidence names it. */
  readonly source: string;
}

/** The audit row of what was done with a row of the outbox, with the principal, actor and correlation id of the memory. */
export function outboxAudit(row: OutboxRow, { operation, source, action, reason, evidence }: OutboxAudit): AuditEntry {
  return {
    action,
    operation,
    reason,
    status: statuses[action],
    principal: row.principal,
    actorUserId: row.actorUserId,
    targetSpace: row.space,
    payloadSha: row.payloadSha,
    correlationId: row.correlationId,
    memoryKey: row.memoryKey,
    evidence: {
      source,
      outbox_id: row.outboxId,
      retry_count: row.retryCount,
      correlation_id: row.correlationId,
      payload_sha: row.payloadSha,
      ...(row.memoryKey === null ? {} : { memory_key: row.memoryKey }),
      ...evidence,
      gateway_event: { requested_space: row.requestedSpace },
    },
  };
}
