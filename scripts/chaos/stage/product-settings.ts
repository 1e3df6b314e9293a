import { type ServerProcessOptions, startServer } from 'mortise/sdk/testing';
import { policy } from '../plan/memory-input.js';
import { type Slot, STARTING_MS } from './process-lives.js';

/** The plugins that handle a memory. */
const plugins = [
  'logbook',
  'text-analysis',
  'memory-gateway',
  'memory-backend-local',
  'memory-backend-openmemory',
  'memory-outbox',
  'memory-reconcile',
  'mcp-server',
];

/** Admin key for the policy change. */
const ADMIN_KEY = 'chaos-governance-key';

interface ProductOptions {
  /** Address of an OpenMemory server; null for the backend in the product's own database. */
  readonly backend: string | null;
  /** Environment that points at the database; empty for the SQLite file in the data directory. */
  readonly database: Readonly<Record<string, string>>;
}

/** An address without a server. */
const NO_SERVER = 'http://127.0.0.1:9';

/** Settings of the product with intervals and time limits reduced to seconds. */
export function productSettings({ backend, database }: ProductOptions): ServerProcessOptions {
  return {
    database,
    plugins: { version: 1, plugins: Object.fromEntries(plugins.map((key) => [key, { enabled: true }])) },
    env: {
      MORTISE_LOG_LEVEL: 'info',
      MORTISE_API_BASE: NO_SERVER,
      GOVERNANCE_ADMIN_KEY: ADMIN_KEY,
      MORTISE_UNKNOWN_ACTOR_POLICY: 'auto_create',
      ...(backend === null ? { MORTISE_MEMORY_BACKEND: 'local' } : { OPENMEMORY_BASE_URL: backend }),
      MORTISE_OPENMEMORY_TIMEOUT_MS: '500',
      MORTISE_OPENMEMORY_QUERY_TIMEOUT_MS: '1000',
      MORTISE_OPENMEMORY_WORKER_TIMEOUT_SECONDS: '3',
      MORTISE_OUTBOX_BATCH_SIZE: '20',
      MORTISE_OUTBOX_LEASE_SECONDS: '3',
      MORTISE_OUTBOX_BASE_BACKOFF: '1',
      MORTISE_OUTBOX_MAX_BACKOFF: '3',
      MORTISE_RECONCILE_INTERVAL_SECONDS: '0',
    },
  };
}

/** Starts a server once to create the tables and set the policy. */
export async function setPolicy({
  settings,
  folder,
  children,
}: Pick<Slot, 'settings' | 'folder' | 'children'>): Promise<void> {
  const server = await startServer({
    ...settings,
    folder,
    limitMs: STARTING_MS,
    onSpawn: (child) => children.add(child),
  });
  const answer = await server.post('/governance/settings/update', { ...policy, admin_key: ADMIN_KEY });
  const { ok } = (await answer.json()) as { readonly ok?: unknown };
  const how = await server.end('SIGTERM');
  if (ok !== true || how !== 0) throw new Error(`The policy could not be set (${how}):\n${server.output()}`);
}
