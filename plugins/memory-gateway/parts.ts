import type { AuditService, Database, LogbookService, Logger, MemoryService, Points } from 'mortise/sdk';
import type { GatewayConfig } from './config.js';
import type { Writer } from './write/create-writer.js';
import type { SingleFlight } from './write/single-flight.js';

/** What the tools of this plugin work with. */
export interface GatewayParts {
  readonly config: GatewayConfig;
  readonly projectKey: string;
  readonly version: string;
  readonly database: Database;
  readonly logbook: LogbookService;
  readonly audit: AuditService;
  readonly backend: MemoryService;
  readonly writer: Writer;
  /** Keeps identical stores apart. */
  readonly flights: SingleFlight;
  readonly points: Points;
  readonly log: Logger;
}
