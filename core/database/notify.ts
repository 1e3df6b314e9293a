import type pg from 'pg';
import type { Disposable, Logger } from '../sdk/context.js';
import type { Transaction } from '../sdk/host/database.js';
import { databaseError, shortReason } from './errors.js';
import { connectionSettings } from './postgres.js';
import type { PostgresSettings } from './settings.js';
import type { Session } from './transaction.js';

const maxPayloadBytes = 7_000;

interface Listener {
  readonly run: (payload: string) => void;
  readonly missed: (() => void) | undefined;
}

/** Sends short messages between instances of a plugin in all processes. */
export interface NotificationBus {
  /** @param topic `<plugin>:<channel>` */
  notify(topic: string, payload: string, trx: Transaction | undefined): Promise<void>;
  listen(topic: string, listener: Listener): Promise<Disposable>;
  close(): Promise<void>;
}

/** The listeners of this process, by topic. If one throws, the others are still called. */
class Listeners {
  readonly #byTopic = new Map<string, Set<Listener>>();
  readonly #failed: (error: unknown) => void;

  constructor(failed: (error: unknown) => void) {
    this.#failed = failed;
  }

  add(topic: string, listener: Listener): Disposable {
    const listeners = this.#byTopic.get(topic) ?? new Set();
    this.#byTopic.set(topic, listeners.add(listener));
    return {
      dispose: () => {
        listeners.delete(listener);
        if (listeners.size === 0 && this.#byTopic.get(topic) === listeners) this.#byTopic.delete(topic);
      },
    };
  }

  deliver(topic: string, payload: string): void {
    for (const listener of [...(this.#byTopic.get(topic) ?? [])]) this.#guarded(() => listener.run(payload));
  }

  missed(): void {
    for (const listener of [...this.#byTopic.values()].flatMap((listeners) => [...listeners])) {
      this.#guarded(() => listener.missed?.());
    }
  }

  #guarded(run: () => void): void {
    try {
      run();
    } catch (error) {
      this.#failed(error);
    }
  }
}

/** @throws MortiseError `notification_invalid` */
export function notificationTopic(plugin: string, channel: string, payload = ''): string {
  if (!/^[\x21-\x7e]{1,64}$/.test(channel) || Buffer.byteLength(payload) > maxPayloadBytes || payload.includes('\0')) {
    throw databaseError('notification_invalid');
  }
  return `${plugin}:${channel}`;
}

/** Notifications within one process: with SQLite no other process needs to be notified at once. */
export function localBus(session: Session, log: Logger): NotificationBus {
  const listeners = new Listeners((error) =>
    log.error({ reason: shortReason(error) }, 'A notification listener failed'),
  );
  const deliver = (topic: string, payload: string): void => {
    // Asynchronous and outside any transaction, as from a server.
    session.outside(() => setImmediate(() => listeners.deliver(topic, payload)));
  };
  return {
    async notify(topic, payload, trx) {
      if (trx !== undefined) return session.afterCommit(trx, () => deliver(topic, payload));
      session.assertOutside();
      deliver(topic, payload);
    },
    listen: async (topic, listener) => listeners.add(topic, listener),
    close: async () => {},
  };
}

/** All topics share one server channel: a reconnect then needs a single LISTEN. */
const serverChannel = 'mortise';

const firstRetryMs = 100;
const maxRetryMs = 5_000;

/** `LISTEN` on a separate connection, opened for the first listener and reopened whenever it is lost. */
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
    retryMs = Math.min(retryMs * 2, maxRetryMs);
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

  // Events of the socket run in the context it was made in: not inside a caller's transaction.
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
