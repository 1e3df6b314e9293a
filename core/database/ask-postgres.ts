import type { Logger } from '../sdk/context.js';
import { shortReason } from './connection-error.js';
import type { connectionSettings } from './postgres-session.js';
import type { AskServer } from './silence.js';

/** SQLSTATE: five characters, said by a server that is there. */
const saidByServer = /^[0-9A-Z]{5}$/;

/** Asks the server, on a connection of its own, what its processes are at. It must connect and answer in time. */
export function askPostgres(
  settings: ReturnType<typeof connectionSettings>,
  timeoutMs: number,
  log: Logger,
): AskServer {
  return async () => {
    const { Client } = (await import('pg')).default;
    const client = new Client({ ...settings, connectionTimeoutMillis: timeoutMs, query_timeout: timeoutMs });
    // What happens to it after its answer concerns nobody.
    client.on('error', () => {});
    try {
      await client.connect();
      const { rows } = await client.query<{ pid: number; state: string | null }>(
        'select pid, state from pg_stat_activity where usename = current_user',
      );
      return new Map(rows.map(({ pid, state }) => [pid, state]));
    } catch (error) {
      // It refuses, for want of connections or because it starts: it is no silent one.
      if (error instanceof Error && 'code' in error && saidByServer.test(String(error.code))) return new Map();
      log.debug({ reason: shortReason(error) }, 'The database does not answer on a new connection either');
      return undefined;
    } finally {
      client.end().catch(() => {});
    }
  };
}
