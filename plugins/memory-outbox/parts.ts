import type { AuditService, LogbookService } from 'mortise/contracts/logbook';
import type { MemoryService } from 'mortise/contracts/memory-gateway';
import type { Database, Disposable, Logger } from 'mortise/sdk';
import type { OutboxConfig } from './config.js';

/** What the outbox works with. */
export interface OutboxParts {
  readonly config: OutboxConfig;
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
