import type { ServerProcessOptions } from 'mortise/sdk/testing';

/** Everything that a memory passes through on its way to a remote backend. */
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

/** What changes the policy. */
export const ADMIN_KEY = 'chaos-governance-key';

export interface Surroundings {
  /** Address of an OpenMemory server; null for the backend in the product's own database. */
  readonly backend: string | null;
  /** Environment that points at the database; empty for the SQLite file in the data directory. */
  readonly database: Readonly<Record<string, string>>;
}

/** Nobody knows its address. */
const NO_SERVER = 'http://127.0.0.1:9';

/** The product as it is shipped, in more of a hurry: what takes minutes in use takes seconds here. */
export function productSettings({ backend, database }: Surroundings): ServerProcessOptions {
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
