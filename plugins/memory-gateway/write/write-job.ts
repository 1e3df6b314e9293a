import type { DedupHit, NewMemory } from 'mortise/contracts/logbook';
import type { FailedDelivery } from 'mortise/contracts/memory-gateway';
import type { AuditEntry, MemoryItem } from 'mortise/sdk';

/** A memory to write, unless an identical one exists. */
export interface MemoryJob {
  readonly kind: 'memory';
  /** `whole`: everything in one transaction; `begin`: the ledger row and a pending audit row, before the backend call. */
  readonly phase: 'whole' | 'begin';
  readonly item: MemoryItem;
  /** The ledger row, except for the members that the write determines. */
  readonly row: Omit<NewMemory, 'backend' | 'backendMemoryId' | 'state' | 'auditId' | 'outboxId'>;
  /** A user to create with the write. */
  readonly newUser: { readonly userId: string; readonly audit: AuditEntry } | null;
  readonly auditStored: (memoryId: string) => AuditEntry;
  readonly auditBegun: () => AuditEntry;
  readonly auditDuplicate: (hit: DedupHit) => AuditEntry;
}

/** An audit row alone, for a request that was refused or failed. */
interface AuditJob {
  readonly kind: 'audit';
  readonly audit: AuditEntry;
}

export type WriteJob = MemoryJob | AuditJob;

export type WriteOutcome =
  | { readonly kind: 'stored'; readonly memoryId: string; readonly isDedup?: boolean }
  /** The backend can be called now. */
  | { readonly kind: 'begun'; readonly auditId: string }
  /** The backend did not accept it: it is in the outbox, pending or as a dead letter. */
  | {
      readonly kind: 'outbox';
      readonly outboxId: number;
      readonly isDead: boolean;
      readonly failed: FailedDelivery;
    }
  | { readonly kind: 'duplicate'; readonly hit: DedupHit }
  /** Another process is writing the same memory. Nothing was written, not even the audit row. */
  | { readonly kind: 'busy' }
  /** The actor is a disabled user, whom a store does not enable. Nothing was written. */
  | { readonly kind: 'actor_disabled' }
  | { readonly kind: 'audited' };

/** The user of a job could not be created. */
export class NewUserFailed extends Error {
  constructor(cause: unknown) {
    super('The actor could not be created.', { cause });
    this.name = 'NewUserFailed';
  }
}

/** The backend failed to store the memories of a group, for a reason other than the database. */
export class BackendFailed extends Error {
  constructor(cause: unknown) {
    super('The memory backend failed.', { cause });
    this.name = 'BackendFailed';
  }
}

/** The backend was called, and the outcome could not be committed. */
export class WriteUnsettled extends Error {
  constructor(cause?: unknown) {
    super('The outcome of the write is not known yet.', { cause });
    this.name = 'WriteUnsettled';
  }
}

/** Another process stored the same memory first. */
export class LostRace extends Error {
  constructor() {
    super('The same memory was stored by another process.');
    this.name = 'LostRace';
  }
}
