import type { AuditService, LogbookService } from 'mortise/contracts/logbook';
import type { MemoryService } from 'mortise/contracts/memory-gateway';
import type { Database, HttpService, InstancesService, Logger, Points } from 'mortise/sdk';
import type { GatewayConfig } from './config.js';
import type { Writer } from './write/create-writer.js';
import type { SingleFlight } from './write/single-flight.js';
import type { TransactionGroup } from './write/transaction-group.js';

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
  /** What came of calls of a backend that keeps its own books. */
  readonly settlements: TransactionGroup;
  /** Audit ids of the writes that this process is calling the backend for: they are not recovered. */
  readonly inFlight: Set<string>;
  /** Of this process. */
  readonly instances: InstancesService;
  /** Keeps identical stores apart. */
  readonly flights: SingleFlight;
  readonly points: Points;
  readonly log: Logger;
  /** Knows the admin key, whether only this machine can reach the server, and how often a tool may be called. */
  readonly http: Pick<HttpService, 'loopback' | 'adminKeyed' | 'isAdminKey' | 'admitToolCall'>;
}
