import type { GateConfig } from 'mortise/contracts/gate';
import type { StartHost } from 'mortise/sdk';
import { poolEntriesTable } from '../migrations/0001-pool-entries.js';
import type { PoolKeeper, Pools } from '../pools.js';
import { PoolStore } from './pool-store.js';

export interface KeptPools extends PoolKeeper {
  /** Takes over what an earlier process has left. A database that fails is given up: the gate goes on in memory. */
  restore(pools: Pools): Promise<void>;
  close(): Promise<void>;
}

/** The pools in the database of the platform. */
export function poolStoreOf(host: StartHost<GateConfig>): KeptPools {
  const database = host.use('database');
  const schedule = host.use('schedule');
  let given = false;
  const gaveUp = (error: unknown): void => {
    given = true;
    host.log.warn({ error: error instanceof Error ? error.name : 'error' }, 'the pools of the gate are not stored');
    host.emit('alert', {
      source: 'gate:persistence',
      severity: 'medium',
      code: 'gate_persistence_off',
      message: 'The database failed: the pools of the gate are in memory until it is started again.',
      data: { table: 'gate.pool_entries' },
    });
  };
  const store = new PoolStore(database, () => schedule.now(), gaveUp);
  return {
    add: (place, kept) => {
      if (!given) store.add(place, kept);
    },
    claim: async (obsId) => (given ? undefined : store.claim(obsId)),
    unclaim: async (obsId) => (given ? undefined : store.unclaim(obsId)),
    async restore(pools) {
      try {
        await database.migrate([poolEntriesTable]);
        pools.restore(await store.load());
      } catch (error) {
        gaveUp(error);
      }
    },
    close: () => store.close(),
  };
}
