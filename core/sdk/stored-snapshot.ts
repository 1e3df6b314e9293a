import type { Disposable } from './context.js';
import type { Database, Transaction } from './host/database.js';
import type { StartHost } from './plugin.js';

/** An in-memory copy of rows that are often read and rarely changed: configuration documents, catalogues, users' lists. */
export interface StoredSnapshot<T> {
  /** As of the last change that this process knows of. */
  readonly current: T;
  /** Reads the rows again. Await it after a change, so that the next request sees it. */
  refresh(): Promise<T>;
  /**
   * Changes the rows, and notifies the replicas, in one transaction. The copy then has the change, except within the
   * transaction `outer` of the caller, who refreshes it after the commit.
   *
   * @param what is sent with the notification
   */
  change(what: string, write: (trx: Transaction) => Promise<unknown>, outer?: Transaction): Promise<void>;
  /** Calls after each later read, whether its rows have changed or not. */
  onRead(run: (value: T) => void): Disposable;
}

interface SnapshotOptions<T> {
  readonly database: Pick<Database, 'listen' | 'notify' | 'transaction'>;
  /** Notified in the transaction of every change. */
  readonly channel: string;
  read(): Promise<T>;
  /** Awaited with each value before it becomes the current one, the first one included. */
  prepare?(value: T): unknown;
}

/** Notifications may be lost, and another process may write to the same SQLite file without any. */
const pollMs = 15_000;

/**
 * Reads the rows once, and again after every change on any replica. A refresh that is requested while one is running starts
 * one more after it, since the running one may have read before the change.
 *
 * @example
 * const skills = await openStoredSnapshot(host, { database, channel: 'skills', read: () => readSkills(database) });
 * skills.current.get('release-notes');
 */
export async function openStoredSnapshot<T>(
  host: Pick<StartHost, 'own' | 'every' | 'log'>,
  { database, channel, read, prepare }: SnapshotOptions<T>,
): Promise<StoredSnapshot<T>> {
  const load = async (): Promise<T> => {
    const value = await read();
    await prepare?.(value);
    return value;
  };
  let current: T = await load();
  const listeners = new Set<(value: T) => void>();
  let running: Promise<T> | undefined;
  let next: Promise<T> | undefined;

  const start = (): Promise<T> => {
    running = load().then((value) => {
      current = value;
      for (const run of listeners) run(value);
      return value;
    });
    const settled = (): void => {
      running = undefined;
    };
    running.then(settled, settled);
    return running;
  };
  const refresh = (): Promise<T> => {
    if (running === undefined) return start();
    next ??= running
      .catch(() => undefined)
      .then(() => {
        next = undefined;
        return start();
      });
    return next;
  };
  const refreshQuietly = async (): Promise<void> => {
    try {
      await refresh();
    } catch (error) {
      host.log.warn({ err: error, channel }, 'stored data could not be read again; the last state stays in use');
    }
  };
  host.own(await database.listen(channel, () => void refreshQuietly(), { missed: () => void refreshQuietly() }));
  host.every(pollMs, refreshQuietly);
  return {
    get current() {
      return current;
    },
    refresh,
    async change(what, write, outer) {
      const run = async (trx: Transaction): Promise<void> => {
        await write(trx);
        await database.notify(channel, what, { trx });
      };
      if (outer) return run(outer);
      await database.transaction(run);
      await refresh();
    },
    onRead(run) {
      listeners.add(run);
      return { dispose: () => void listeners.delete(run) };
    },
  };
}
