import type {
  AuditService,
  Database,
  HttpService,
  InstancesService,
  LogbookService,
  Logger,
  MemoryService,
  Points,
} from 'mortise/sdk';
import type { Config } from './config.generated.js';
import type { Writer } from './write/create-writer.js';
import type { Settlements } from './write/settlements.js';
import type { SingleFlight } from './write/single-flight.js';

/** What the tools of this plugin work with. */
export interface GatewayParts {
  readonly config: Config;
  readonly projectKey: string;
  readonly version: string;
  readonly database: Database;
  readonly logbook: LogbookService;
  readonly audit: AuditService;
  readonly backend: MemoryService;
  readonly writer: Writer;
  /** What came of calls of a backend that keeps its own books. */
  readonly settlements: Settlements;
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
