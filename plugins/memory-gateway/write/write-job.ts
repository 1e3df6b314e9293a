import type { DedupHit, NewMemory } from 'mortise/contracts/logbook';
import type { FailedDelivery } from 'mortise/contracts/memory-gateway';
import type { AuditEntry, MemoryItem } from 'mortise/sdk';

/** A memory that is to be written unless the same one is there already. */
export interface MemoryJob {
  readonly kind: 'memory';
  /** `whole`: with the backend, in one transaction; `begin`: the ledger row and a pending audit row, before the call. */
  readonly phase: 'whole' | 'begin';
  readonly item: MemoryItem;
  /** The ledger row, but for what only the write knows. */
  readonly row: Omit<NewMemory, 'backend' | 'backendMemoryId' | 'state' | 'auditId' | 'outboxId'>;
  /** A user to be made with the write. */
  readonly newUser: { readonly userId: string; readonly audit: AuditEntry } | null;
  readonly auditStored: (memoryId: string) => AuditEntry;
  readonly auditBegun: () => AuditEntry;
  readonly auditDuplicate: (hit: DedupHit) => AuditEntry;
}

/** An audit row alone: something was refused or went wrong. */
export interface AuditJob {
  readonly kind: 'audit';
  readonly audit: AuditEntry;
}

export type WriteJob = MemoryJob | AuditJob;

export type WriteOutcome =
  | { readonly kind: 'stored'; readonly memoryId: string; readonly isDedup?: boolean }
  /** The backend may be called now. */
  | { readonly kind: 'begun'; readonly auditId: string }
  /** The backend did not take it: it waits in the outbox, or is a dead letter there. */
  | {
      readonly kind: 'kept';
      readonly outboxId: number;
      readonly isDead: boolean;
      readonly failed: FailedDelivery;
    }
  | { readonly kind: 'duplicate'; readonly hit: DedupHit }
  /** Another process is writing the same memory; nothing was written here, the audit row included. */
  | { readonly kind: 'busy' }
  /** The actor was to become a user, but is one who was switched off; nothing was written here either. */
  | { readonly kind: 'actor_off' }
  | { readonly kind: 'audited' };

/** The user of a job could not be made. */
export class NewUserFailed extends Error {
  constructor(cause: unknown) {
    super('The actor could not be created.', { cause });
    this.name = 'NewUserFailed';
  }
}

/** The backend did not take the memories of a group, for a reason that is not the database's. */
export class BackendFailed extends Error {
  constructor(cause: unknown) {
    super('The memory backend failed.', { cause });
    this.name = 'BackendFailed';
  }
}

/** The backend was called, and what came of it could not be written down. */
export class WriteUnsettled extends Error {
  constructor(cause?: unknown) {
    super('The outcome of the write is not known yet.', { cause });
    this.name = 'WriteUnsettled';
  }
}

/** Another process stored the same memory while this one was about to. */
export class LostRace extends Error {
  constructor() {
    super('The same memory was stored by another process.');
    this.name = 'LostRace';
  }
}
