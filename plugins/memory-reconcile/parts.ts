import type { AuditService, Database, LogbookService, Logger, MemoryService } from 'mortise/sdk';

/** What a reconciliation works with. */
export interface ReconcileParts {
  readonly database: Database;
  readonly logbook: LogbookService;
  readonly audit: AuditService;
  readonly memory: MemoryService;
  readonly log: Logger;
}
