import type { AuditEntry, DedupHit, MemoryItem, NewMemory } from 'mortise/sdk';

/** A memory that is to be written unless the same one is there already. */
export interface MemoryJob {
  readonly kind: 'memory';
  readonly item: MemoryItem;
  /** The ledger row, but for what only the write knows. */
  readonly row: Omit<NewMemory, 'backend' | 'backendMemoryId' | 'state' | 'auditId' | 'outboxId'>;
  /** A user to be made with the write. */
  readonly newUser: { readonly userId: string; readonly audit: AuditEntry } | null;
  readonly auditStored: (memoryId: string) => AuditEntry;
  readonly auditDuplicate: (hit: DedupHit) => AuditEntry;
}

/** An audit row alone: something was refused or went wrong. */
export interface AuditJob {
  readonly kind: 'audit';
  readonly audit: AuditEntry;
}

export type WriteJob = MemoryJob | AuditJob;

export type WriteOutcome =
  | { readonly kind: 'stored'; readonly memoryId: string }
  | { readonly kind: 'duplicate'; readonly hit: DedupHit }
  /** Another process is writing the same memory; nothing was written here, the audit row included. */
  | { readonly kind: 'busy' }
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

/** Another process stored the same memory while this one was about to. */
export class LostRace extends Error {
  constructor() {
    super('The same memory was stored by another process.');
    this.name = 'LostRace';
  }
}
