import type { AuditService, Database, Disposable, LogbookService, Logger, MemoryService } from 'mortise/sdk';
import type { Config } from './config.generated.js';

/** What the outbox works with. */
export interface OutboxParts {
  readonly config: Config;
  readonly database: Database;
  readonly logbook: LogbookService;
  readonly audit: AuditService;
  readonly memory: MemoryService;
  readonly log: Logger;
  /** Runs something again and again, as the host does. */
  every(ms: number, run: () => unknown): Disposable;
  /** Milliseconds on a clock that nobody sets. */
  now(): number;
  /** From 0 to below 1. */
  random(): number;
}
