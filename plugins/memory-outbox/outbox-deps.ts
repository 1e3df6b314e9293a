import type { AuditService, LogbookService } from 'mortise/contracts/logbook';
import type { MemoryService } from 'mortise/contracts/memory-gateway';
import type { Database, Disposable, Logger } from 'mortise/sdk';
import type { Config } from './config.generated.js';

/** Services and functions that the outbox uses. */
export interface OutboxDeps {
  readonly config: Config;
  readonly database: Database;
  readonly logbook: LogbookService;
  readonly audit: AuditService;
  readonly memory: MemoryService;
  readonly log: Logger;
  /** As `host.every`. */
  every(ms: number, run: () => unknown): Disposable;
  /** Monotonic milliseconds. */
  now(): number;
  /** In [0, 1). */
  random(): number;
}
