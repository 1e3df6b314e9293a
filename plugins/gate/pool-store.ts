import type { GateConfig, GateDecision, GatePool } from 'mortise/contracts/gate';
import {
  type Database,
  type InsertTarget,
  insertRows,
  type Observation,
  type Principal,
  type StartHost,
  WriteBehind,
} from 'mortise/sdk';
import { poolEntriesTable } from './migrations/0001-pool-entries.js';
import { poolPrincipals } from './migrations/0002-pool-principals.js';
import { type PooledItem, type PoolPersistence, type Pools, poolSize } from './pools.js';

const target: InsertTarget = {
  table: 'gate.pool_entries',
  columns: ['obs_id', 'pool', 'session_key', 'decision', 'observation', 'at', 'position', 'released_at', 'principal'],
  suffix: 'on conflict (obs_id) do nothing',
};

interface PoolRow {
  readonly pool: GatePool;
  readonly decision: string;
  readonly observation: string;
  readonly at: number;
  readonly position: number;
  readonly released_at: number | null;
  readonly principal: string | null;
}

/**
 * Stores the pools write-behind: no decision waits for the database. After repeated failures it raises an alert and stops
 * storing; the pools stay in memory.
 */
export class PoolStore implements PoolPersistence {
  readonly #host: StartHost<GateConfig>;
  readonly #database: Database;
  readonly #writes: WriteBehind<PooledItem>;
  #off = false;

  constructor(host: StartHost<GateConfig>) {
    this.#host = host;
    this.#database = host.use('database');
    this.#writes = new WriteBehind({
      write: (entries) => this.#write(entries),
      gaveUp: (error) => this.#turnOff(error),
    });
  }

  add(place: string, entry: PooledItem): void {
    if (!this.#off) this.#writes.set(place, entry);
  }

  async claim(obsId: string): Promise<boolean | undefined> {
    if (this.#off || !this.#writes.open) return undefined;
    await this.#writes.flush();
    const entry = this.#entries().where({ obs_id: obsId });
    const released_at = this.#host.use('schedule').now();
    if ((await entry.clone().whereNull('released_at').update({ released_at })) === 1) return true;
    const known: unknown = await entry.first('obs_id');
    return known === undefined ? undefined : false;
  }

  async unclaim(obsId: string): Promise<void> {
    if (this.#off || !this.#writes.open) return;
    await this.#entries().where({ obs_id: obsId }).update({ released_at: null });
  }

  /** Loads the entries that an earlier process stored. */
  async restore(pools: Pools): Promise<void> {
    try {
      await this.#database.migrate([poolEntriesTable, poolPrincipals]);
      pools.restore(await this.#load());
    } catch (error) {
      this.#turnOff(error);
    }
  }

  close(): Promise<void> {
    return this.#writes.close();
  }

  #entries() {
    return this.#database.query()(this.#database.table('gate.pool_entries'));
  }

  /** Oldest first. */
  async #load(): Promise<readonly PooledItem[]> {
    const loaded: PooledItem[] = [];
    for (const pool of ['drop', 'sink', 'tool'] as const) {
      const rows: PoolRow[] = await this.#entries()
        .select('pool', 'decision', 'observation', 'at', 'position', 'released_at', 'principal')
        .where({ pool })
        .orderBy([
          { column: 'at', order: 'desc' },
          { column: 'position', order: 'desc' },
        ])
        .limit(poolSize);
      loaded.push(...rows.reverse().map(itemOf));
    }
    return loaded;
  }

  async #write(entries: readonly PooledItem[]): Promise<void> {
    // `released_at` is only set by `claim`.
    const rows = entries.map(({ item: { pool, observation, decision, principal }, at, order }) => [
      observation.obs_id,
      pool,
      decision.session_key,
      JSON.stringify(decision),
      JSON.stringify(observation),
      at,
      order,
      null,
      principal ? JSON.stringify(storedPrincipal(principal)) : null,
    ]);
    await insertRows(this.#database, target, rows);
    for (const pool of new Set(entries.map(({ item }) => item.pool))) {
      await this.#database.statement(
        `delete from {gate.pool_entries} where pool = ? and obs_id not in
           (select obs_id from {gate.pool_entries} where pool = ? order by at desc, position desc limit ?)`,
        [pool, pool, poolSize],
      );
    }
  }

  #turnOff(error: unknown): void {
    this.#off = true;
    this.#host.log.warn(
      { error: error instanceof Error ? error.name : 'error' },
      'the pools of the gate are not stored',
    );
    this.#host.emit('alert', {
      source: 'gate:persistence',
      severity: 'medium',
      code: 'gate_persistence_off',
      message: 'The database failed: the pools of the gate are in memory only until the plugin is restarted.',
      data: { table: 'gate.pool_entries' },
    });
  }
}

/** A stored principal has no rights that depend on the connection it came over. */
function storedPrincipal({ id, actor, spaces, authenticated }: Principal): Principal {
  return { id, actor, spaces, authenticated, admin: false, loopback: false };
}

function itemOf({ pool, decision, observation, at, position, released_at, principal }: PoolRow): PooledItem {
  return {
    item: {
      pool,
      decision: frozen(JSON.parse(decision) as GateDecision),
      observation: frozen(JSON.parse(observation) as Observation),
      principal: principal === null ? undefined : frozen(JSON.parse(principal) as Principal),
    },
    at: Number(at),
    order: Number(position),
    released: released_at !== null,
  };
}

/** Freezes an object and its members, as published observations and decisions are. */
function frozen<T extends object>(value: T): T {
  for (const member of Object.values(value)) Object.freeze(member);
  return Object.freeze(value);
}
