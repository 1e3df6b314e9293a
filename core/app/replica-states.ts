import type { Kernel } from '../kernel/kernel.js';
import type { Disposable, Logger } from '../sdk/context.js';
import type { PluginStateName } from '../sdk/events.js';
import type { Database } from '../sdk/host/database.js';
import type { InstancesService } from '../sdk/host/instances.js';

export interface ReplicaState {
  readonly node: string;
  readonly state: PluginStateName;
  readonly at: string;
}

/** What every live replica says of its plugins, as of the last look. */
export interface ReplicaStates extends Disposable {
  of(plugin: string): readonly ReplicaState[];
}

const lookEveryMs = 1_000;

interface Row {
  readonly instance_id: string;
  readonly plugin: string;
  readonly state: PluginStateName;
  readonly at: unknown;
}

/** Tells the other replicas how this one's plugins are, and keeps what they tell. */
export function shareStates(
  kernel: Pick<Kernel, 'events'>,
  database: Pick<Database, 'statement' | 'codec'>,
  instances: Pick<InstancesService, 'id' | 'list'>,
  log: Logger,
  everyMs = lookEveryMs,
): ReplicaStates {
  let known: ReadonlyMap<string, readonly ReplicaState[]> = new Map();
  const changed = new Map<string, { readonly state: PluginStateName; readonly at: number }>();
  let busy: Promise<void> = Promise.resolve();

  const exchange = async (): Promise<void> => {
    try {
      for (const plugin of [...changed.keys()]) {
        const told = changed.get(plugin);
        if (!told) continue;
        await database.statement(
          `insert into {plugins.replicas} (instance_id, plugin, state, at) values (?, ?, ?, ?)
           on conflict (instance_id, plugin) do update set state = excluded.state, at = excluded.at`,
          [instances.id, plugin, told.state, database.codec.time(told.at)],
        );
        // What changed meanwhile, or could not be written, is told the next time.
        if (changed.get(plugin) === told) changed.delete(plugin);
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
  const turn = (): void => {
    busy = busy.then(exchange);
  };
  const unwatch = kernel.events.on('plugin-state', ({ key, to, at }) => {
    changed.set(key, { state: to, at });
  });
  const timer = setInterval(turn, everyMs);
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
