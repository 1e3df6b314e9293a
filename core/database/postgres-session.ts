import type { PostgresSettings } from './settings.js';

/** Limits of one session: nothing that hangs may hold a connection or a row for ever. */
export function connectionSettings({ connection, connectTimeoutMs }: PostgresSettings) {
  return {
    ...(typeof connection === 'string' ? { connectionString: connection } : connection),
    application_name: 'mortise',
    connectionTimeoutMillis: connectTimeoutMs ?? 2_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    statement_timeout: 30_000,
    lock_timeout: 10_000,
    idle_in_transaction_session_timeout: 60_000,
    options: '-c timezone=UTC',
  };
}
