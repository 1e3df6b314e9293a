import type { Disposable, TransactionOption } from 'mortise/sdk';

/**
 * `pending`: it waits for the backend, leased or not; `sent`: the backend has it; `dead`: the backend refused it for
 * good, or too often. A dead row becomes pending again only by hand.
 */
export type OutboxStatus = 'pending' | 'sent' | 'dead';

/**
 * `unavailable`: the backend cannot be reached or used at the moment, which never kills a row; `failure`: it answered
 * wrongly, which kills a row when it happens too often; `permanent`: asking again is useless.
 */
export type FailureClass = 'unavailable' | 'failure' | 'permanent';

/** A memory that the backend could not take. */
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
  readonly itemId: number | null;
  readonly correlationId: string | null;
  readonly status: 'pending' | 'dead';
  readonly lastError: string | null;
  readonly lastErrorClass: FailureClass | null;
  /** Nobody knows whether the backend has it: look there before sending again. */
  readonly verifyFirst: boolean;
  /** Seconds from now until it is due. */
  readonly delaySeconds: number;
}

export interface OutboxRow extends Omit<NewOutboxRow, 'status' | 'delaySeconds' | 'memoryKey'> {
  readonly outboxId: number;
  readonly status: OutboxStatus;
  /** Null for a row made by hand. */
  readonly memoryKey: string | null;
  readonly retryCount: number;
  /** Those of the retries that do not count toward its death. */
  readonly unavailableCount: number;
  /** ISO 8601, as all times of the row. */
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
  /** Whose lease had run out; null for a row that was free. */
  readonly takenOverFrom: { readonly lockedBy: string | null; readonly lockedAt: string } | null;
}

export interface OutboxWish {
  readonly workerId: string;
  readonly batchSize: number;
  readonly leaseSeconds: number;
  /** Rows that the worker is not done with, and must not get anew should their lease have run out. None when absent. */
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

/** What a worker did with a row, to be written only while it still holds the row. */
export interface Sent {
  readonly outboxId: number;
  readonly memoryId: string;
  /** The text is not kept here any more; its hash is. */
  readonly dropsPayload?: boolean;
}

/**
 * Memories that wait for the backend. Every change is one guarded statement: `boolean` methods return false, and the
 * lists leave a row out, when the row was no longer the caller's to change.
 */
export interface Outbox {
  enqueueMemory(row: NewOutboxRow, options?: TransactionOption): Promise<number>;
  /** The memory of the same space, text and meta that was sent first. */
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
   * Leases due rows, oldest first, that nobody holds or whose lease has run out. No row is given out while another of
   * the same space, text and meta is held.
   */
  claimOutbox(wanted: OutboxWish, options?: TransactionOption): Promise<OutboxClaim>;
  /** @returns the rows that the worker still holds. */
  renewLeases(
    outboxIds: readonly number[],
    workerId: string,
    options?: TransactionOption,
  ): Promise<ReadonlySet<number>>;
  renewLease(outboxId: number, workerId: string, options?: TransactionOption): Promise<boolean>;
  /** Gives rows back as they were claimed. */
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
      /** The backend may have it by now. */
      readonly verifyFirst: boolean;
    },
    options?: TransactionOption,
  ): Promise<boolean>;
  markDeadByWorker(
    outboxId: number,
    workerId: string,
    failure: { readonly error: string; readonly errorClass: FailureClass },
    options?: TransactionOption,
  ): Promise<boolean>;
  /** Makes a dead row pending and due, with its counts at zero. */
  retryDead(outboxId: number, options?: TransactionOption): Promise<boolean>;
  /** Makes due what waits only because the backend was unavailable. @returns how many rows. */
  hasten(options?: TransactionOption): Promise<number>;
  get(outboxId: number, options?: TransactionOption): Promise<OutboxRow | null>;
  byIds(outboxIds: readonly number[], options?: TransactionOption): Promise<readonly OutboxRow[]>;
  /** Newest first. @throws MortiseError `invalid_outbox_query` (400). */
  list(
    query: OutboxQuery,
    options?: TransactionOption,
  ): Promise<{ readonly rows: readonly OutboxRow[]; readonly next: string | null }>;
  /** The database's clock, epoch milliseconds. */
  clock(options?: TransactionOption): Promise<number>;
  /** Called when rows may have come, from any process; a hint. */
  onRows(run: () => void): Promise<Disposable>;
}
