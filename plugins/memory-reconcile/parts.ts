import type { AuditService, LogbookService } from 'mortise/contracts/logbook';
import type { MemoryService } from 'mortise/contracts/memory-gateway';
import type { Database, Logger } from 'mortise/sdk';

/** What a reconciliation works with. */
export interface ReconcileParts {
  readonly database: Database;
  readonly logbook: LogbookService;
  readonly audit: AuditService;
  readonly memory: MemoryService;
  readonly log: Logger;
}
