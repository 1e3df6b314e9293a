import type { AuditService } from './audit.js';
import type { LedgerMemory, LogbookService } from './logbook.js';

export * from './access.js';
export * from './audit.js';
export * from './items.js';
export * from './logbook.js';
export * from './outbox.js';
export * from './reconcile.js';

declare module 'mortise/sdk' {
  interface Services {
    audit: AuditService;
    logbook: LogbookService;
  }
  interface MemoryHit {
    /** The ledger's row of the hit, where a transactional backend read it for this search: it is not read again. */
    readonly memory?: LedgerMemory;
  }
}
