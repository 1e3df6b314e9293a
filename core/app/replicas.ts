import { hostname } from 'node:os';
import type { Kernel } from '../kernel/kernel.js';
import type { Disposable, Logger } from '../sdk/context.js';
import type { Database } from '../sdk/host/database.js';
import type { Instance, InstancesService } from '../sdk/host/instances.js';
import type { Finding } from '../sdk/host/plugin-control.js';
import type { PluginStateName } from '../sdk/plugin-state.js';

interface ReplicaState {
  readonly node: string;
  readonly state: PluginStateName;
  readonly at: string;
}

/** The plugin states that every live replica reported, as of the last exchange. */
export interface ReplicaStates extends Disposable {
  of(plugin: string): readonly ReplicaState[];
}

const exchangeEveryMs = 1_000;

interface Row {
  readonly instance_id: string;
  readonly plugin: string;
  readonly state: PluginStateName;
  readonly at: unknown;
}

/** Publishes the states of this replica's plugins in the database, and reads those of the others. */
export function shareStates(
  kernel: Pick<Kernel, 'events'>,
  database: Pick<Database, 'statement' | 'codec'>,
  instances: Pick<InstancesService, 'id' | 'list'>,
  log: Logger,
  everyMs = exchangeEveryMs,
): ReplicaStates {
  let known: ReadonlyMap<string, readonly ReplicaState[]> = new Map();
  const changed = new Map<string, { readonly state: PluginStateName; readonly at: number }>();
  let busy: Promise<void> = Promise.resolve();

  const exchange = async (): Promise<void> => {
    try {
      for (const plugin of [...changed.keys()]) {
        const change = changed.get(plugin);
        if (!change) continue;
        await database.statement(
          `insert into {plugins.replicas} (instance_id, plugin, state, at) values (?, ?, ?, ?)
           on conflict (instance_id, plugin) do update set state = excluded.state, at = excluded.at`,
          [instances.id, plugin, change.state, database.codec.time(change.at)],
        );
        // What changed meanwhile, or could not be written, is written the next time.
        if (changed.get(plugin) === change) changed.delete(plugin);
      }
      const alive = new Set((await instances.list()).filter((one) => one.alive).map((one) => one.id));
      const { rows } = await database.statement<Row>('select instance_id, plugin, state, at from {plugins.replicas}');
      const dead = new Set(rows.map((row) => row.instance_id).filter((id) => !alive.has(id)));
      for (const id of dead) await database.statement('delete from {plugins.replicas} where instance_id = ?', [id]);
      const states = rows
        .filter((row) => alive.has(row.instance_id))
        .map(
          (row) =>
            [
              row.plugin,
              { node: row.instance_id, state: row.state, at: database.codec.parseTime(row.at) ?? '' },
            ] as const,
        );
      const next = new Map<string, ReplicaState[]>();
      for (const [plugin, state] of states) next.set(plugin, [...(next.get(plugin) ?? []), state]);
      known = next;
    } catch (error) {
      log.warn(
        { error: error instanceof Error ? error.message : String(error) },
        'the states of the replicas could not be exchanged; it is tried again',
      );
    }
  };
  const tick = (): void => {
    busy = busy.then(exchange);
  };
  const unwatch = kernel.events.on('plugin-state', ({ key, to, at }) => {
    changed.set(key, { state: to, at });
  });
  const timer = setInterval(tick, everyMs);
  timer.unref();
  return {
    of: (plugin) => known.get(plugin) ?? [],
    dispose: async () => {
      unwatch();
      clearInterval(timer);
      await busy;
      await database
        .statement('delete from {plugins.replicas} where instance_id = ?', [instances.id])
        .catch(() => undefined);
    },
  };
}

/** How often others are looked for, milliseconds: as long as a dead instance counts as alive. */
const lookEveryMs = 15_000;

export interface Neighbours extends Disposable {
  findings(): readonly Finding[];
}

interface NeighbourOptions {
  readonly instances: InstancesService;
  readonly dataDir: string;
  readonly log: Logger;
  readonly everyMs?: number;
}

/**
 * Looks for other servers on the same data directory. An embedded database supports them, the rest of the folder does
 * not: they share the boot journal, and neither receives the other's changes and events.
 *
 * A CLI command is also an instance, but a short one: an instance that comes later is reported when it is still there at
 * the next look.
 */
export async function watchNeighbours(options: NeighbourOptions): Promise<Neighbours> {
  const { instances, dataDir, log, everyMs = lookEveryMs } = options;
  let others: readonly Instance[] = [];
  let seen: readonly Instance[] = [];
  const reported = new Set<string>();

  const take = (now: readonly Instance[]): void => {
    others = now;
    for (const { id, pid, host } of others) {
      if (reported.has(id)) continue;
      reported.add(id);
      log.warn({ code: 'data_dir_shared', pid, host }, sentence(dataDir, others));
    }
  };
  const look = async (): Promise<void> => {
    const before = seen;
    seen = await othersOf(instances);
    take(seen.filter(({ id }) => before.some((one) => one.id === id)));
  };

  seen = await othersOf(instances);
  take(seen);
  // A database that fails has its own findings.
  const timer = setInterval(() => void look().catch(() => undefined), everyMs).unref();
  return {
    findings: () =>
      others.length === 0
        ? []
        : [
            {
              severity: 'warning',
              code: 'data_dir_shared',
              message: sentence(dataDir, others),
              fix: 'Stop one of them, give it a --data-dir of its own, or point all at PostgreSQL (DATABASE_URL), which is made for several servers.',
            },
          ],
    dispose: () => clearInterval(timer),
  };
}

async function othersOf(instances: InstancesService): Promise<readonly Instance[]> {
  const all = await instances.list();
  return all.filter((one) => one.id !== instances.id && one.alive && !hasEnded(one));
}

/** An instance that was killed a moment ago on this machine still counts as alive in the table. */
function hasEnded({ host, pid }: Instance): boolean {
  if (host !== hostname()) return false;
  // An earlier process of a container had the same pid.
  if (pid === process.pid) return true;
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}

function sentence(dataDir: string, others: readonly Instance[]): string {
  const named = others.map(({ pid, host }) => `process ${pid} on ${host}`).join(', ');
  return `The data directory ${dataDir} is used by another server as well (${named}).`;
}
