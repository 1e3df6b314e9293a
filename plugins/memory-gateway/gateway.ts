import type { AuditService, LogbookService } from 'mortise/contracts/logbook';
import type { MemoryService } from 'mortise/contracts/memory-gateway';
import {
  createTransactionGroup,
  type Database,
  type HttpService,
  type InstancesService,
  type Logger,
  type Points,
  type StartHost,
  type Transaction,
} from 'mortise/sdk';
import { createBackendClient } from './backend/backend-client.js';
import { createCircuitBreaker } from './backend/circuit-breaker.js';
import type { Config } from './config.generated.js';
import { createWriter, type Writer } from './write/write-group.js';

/** The dependencies of this plugin's tools, routes and commands. */
export interface Gateway {
  readonly config: Config;
  readonly projectKey: string;
  /** Space of stores and queries without a space. */
  readonly defaultSpace: string;
  readonly version: string;
  readonly database: Database;
  readonly logbook: LogbookService;
  readonly audit: AuditService;
  readonly backend: MemoryService;
  readonly writer: Writer;
  /** Commits the outcomes of calls to a backend that is not transactional. */
  readonly settlements: Settlements;
  /** Audit ids of writes whose backend call this process is making. Recovery skips them. */
  readonly inFlight: Set<string>;
  /** The running store of each distinct memory, by the key of its content. */
  readonly running: Map<string, Promise<unknown>>;
  readonly instances: InstancesService;
  readonly points: Points;
  readonly log: Logger;
  readonly http: Pick<HttpService, 'loopback' | 'adminKeyed' | 'isAdminKey' | 'admitToolCall'>;
}

/** Composes the gateway from the services of the host. */
export function createGateway(host: StartHost<Config>): Gateway {
  const { config, points, log } = host;
  const { projectKey, version } = host.use('settings');
  const services = { database: host.use('database'), logbook: host.use('logbook'), audit: host.use('audit') };
  const key = config.memory_backend ?? (config.openmemory_base_url === undefined ? 'local' : 'openmemory');
  const backend = createBackendClient({
    points,
    backend: key,
    limits: { storeMs: config.store_timeout_ms, searchMs: config.query_timeout_ms },
    breaker: createCircuitBreaker(),
    keepsText: config.ledger === 'full',
    ledgerRows: (ids) => services.logbook.ledger.byBackendIds(key, ids),
  });
  return {
    ...services,
    backend,
    config,
    projectKey,
    defaultSpace: config.default_team_space ?? `team:${projectKey}`,
    version,
    writer: createWriter({ ...services, backend }),
    settlements: createSettlements(services.database),
    inFlight: new Set(),
    running: new Map(),
    instances: host.use('instances'),
    points,
    log,
    http: host.use('http'),
  };
}

/** Only database work: it may run twice. */
type Work<T> = (trx: Transaction) => Promise<T>;

/** Commits concurrent work in one transaction. Work that fails does not fail the rest. */
interface Settlements {
  run<T>(work: Work<T>): Promise<T>;
  idle(): Promise<void>;
}

export function createSettlements(database: Database): Settlements {
  const { submit, idle } = createTransactionGroup<Work<unknown>, unknown>(database, async (works, trx) => {
    const values: unknown[] = [];
    for (const work of works) values.push(await work(trx));
    return values;
  });
  return { run: <T>(work: Work<T>) => submit(work) as Promise<T>, idle };
}
