import type pg from 'pg';
import type { Logger } from '../sdk/context.js';
import { shortReason } from './connection-error.js';
import { Listeners, type NotificationBus } from './notify.js';
import { connectionSettings } from './postgres-session.js';
import type { PostgresSettings } from './settings.js';
import type { Session } from './transaction.js';

/** All topics share one server channel: a reconnect then has one thing to listen to again. */
const serverChannel = 'mortise';

const firstRetryMs = 100;
const longestRetryMs = 5_000;

/** `LISTEN` on a connection of its own, opened with the first listener and again whenever it is lost. */
export function postgresBus(settings: PostgresSettings, session: Session, log: Logger): NotificationBus {
  const listeners = new Listeners((error) =>
    log.error({ reason: shortReason(error) }, 'A notification listener failed'),
  );
  let client: pg.Client | undefined;
  let opening: Promise<void> | undefined;
  let retry: NodeJS.Timeout | undefined;
  let retryMs = firstRetryMs;
  let wasLost = false;
  let closed = false;

  const lost = (connection: pg.Client, error: unknown): void => {
    if (client !== connection || closed) return;
    client = undefined;
    wasLost = true;
    log.warn({ reason: shortReason(error), retryMs }, 'The connection for notifications was lost');
    connection.end().catch(() => {});
    retry = setTimeout(open, retryMs);
    retry.unref();
    retryMs = Math.min(retryMs * 2, longestRetryMs);
  };

  const connect = async (): Promise<void> => {
    // Loaded with the first listener: on SQLite the driver is never needed.
    const { Client } = (await import('pg')).default;
    const connection = new Client({
      ...connectionSettings(settings),
      statement_timeout: 0,
      query_timeout: settings.answerTimeoutMs ?? 5_000,
    });
    client = connection;
    connection.on('error', (error) => lost(connection, error));
    connection.on('end', () => lost(connection, new Error('ended')));
    connection.on('notification', ({ payload = '' }) => {
      const line = payload.indexOf('\n');
      listeners.deliver(payload.slice(0, line), payload.slice(line + 1));
    });
    try {
      await connection.connect();
      await connection.query(`listen ${serverChannel}`);
    } catch (error) {
      return lost(connection, error);
    }
    retryMs = firstRetryMs;
    if (!wasLost) return;
    wasLost = false;
    listeners.missed();
  };

  // Events of the socket run in the context it was made in: not inside somebody's transaction.
  const open = (): Promise<void> => {
    opening = session.outside(connect);
    return opening;
  };

  return {
    async notify(topic, payload, trx) {
      await session.statement('select pg_notify(?, ?)', [serverChannel, `${topic}\n${payload}`], trx);
    },
    async listen(topic, listener) {
      const added = listeners.add(topic, listener);
      await (opening ?? open());
      return added;
    },
    async close() {
      closed = true;
      clearTimeout(retry);
      await opening;
      await client?.end().catch(() => {});
    },
  };
}
