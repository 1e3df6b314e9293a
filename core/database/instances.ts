import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Disposable, Logger } from '../sdk/context.js';
import type { Database } from '../sdk/host/database.js';
import type { InstancesService } from '../sdk/host/instances.js';
import { shortReason } from './errors.js';

export interface InstanceTimes {
  /** Milliseconds between two heartbeats; 5,000 when absent. */
  readonly heartbeatMs?: number;
  /** An instance is dead this long after its last heartbeat; 15,000 ms when absent. */
  readonly deadAfterMs?: number;
  /** A dead row is removed this long after its last heartbeat; a day when absent. */
  readonly forgetAfterMs?: number;
}

interface InstanceRow {
  readonly id: string;
  readonly host: string;
  readonly pid: number;
  readonly started_at: unknown;
  readonly heartbeat_at: unknown;
}

type ListedRow = Pick<InstanceRow, 'id' | 'host' | 'pid'> & { readonly started_at: string; readonly alive: unknown };

export interface RegisteredInstance extends InstancesService, Disposable {
  /** Writes the heartbeat now. */
  heartbeat(): Promise<void>;
}

/** Registers this process and keeps it alive in the table until it is disposed. All times are the database's. */
export async function registerInstance(
  database: Database,
  log: Logger,
  times: InstanceTimes = {},
): Promise<RegisteredInstance> {
  const { heartbeatMs = 5_000, deadAfterMs = 15_000, forgetAfterMs = 86_400_000 } = times;
  const id = randomUUID();
  const startedAt = new Date();
  const now = database.now.millis;
  let failing = false;
  let pending: Promise<void> = Promise.resolve();

  const table = () => database.query()<InstanceRow>(database.table('mortise.instances'));

  // Inserts as well: another process may have removed the row while this one was suspended for longer than a day.
  const heartbeat = async (): Promise<void> => {
    const knex = database.query();
    await table()
      .insert({
        id,
        host: hostname(),
        pid: process.pid,
        started_at: database.codec.time(startedAt),
        heartbeat_at: knex.raw(now),
      })
      .onConflict('id')
      .merge({ heartbeat_at: knex.raw(now) });
  };

  await heartbeat();
  await table().whereRaw(`heartbeat_at < ${now} - ?`, [forgetAfterMs]).delete();

  const timer = setInterval(() => {
    pending = pending.then(heartbeat).then(
      () => {
        failing = false;
      },
      (error: unknown) => {
        if (!failing) log.warn({ reason: shortReason(error) }, 'The heartbeat of this process could not be stored');
        failing = true;
      },
    );
  }, heartbeatMs);
  timer.unref();

  return {
    id,
    heartbeat,
    async isAlive(other) {
      const row = await table().where({ id: other }).whereRaw(`heartbeat_at > ${now} - ?`, [deadAfterMs]).first('id');
      return row !== undefined;
    },
    async list() {
      const alive = database
        .query()
        .raw(`case when heartbeat_at > ${now} - ? then 1 else 0 end as alive`, [deadAfterMs]);
      const rows = await table()
        .select<ListedRow[]>('id', 'host', 'pid', 'started_at', alive)
        .orderBy(['started_at', 'id']);
      return rows.map((row) => ({
        id: row.id,
        host: row.host,
        pid: row.pid,
        startedAt: database.codec.parseTime(row.started_at) ?? '',
        alive: database.codec.parseFlag(row.alive),
      }));
    },
    async dispose() {
      clearInterval(timer);
      await pending;
      // Without the database the row expires.
      await (async () => table().where({ id }).delete())().catch(() => {});
    },
  };
}
