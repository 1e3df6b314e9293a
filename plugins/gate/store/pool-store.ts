import type { GateDecision, GatePool } from 'mortise/contracts/gate';
import { type Database, type InsertTarget, insertRows, type Observation, WriteBehind } from 'mortise/sdk';
import { type Kept, poolSize } from '../pools.js';

const target: InsertTarget = {
  table: 'gate.pool_entries',
  columns: ['obs_id', 'pool', 'session_key', 'decision', 'observation', 'at', 'position', 'released_at'],
  suffix: 'on conflict (obs_id) do nothing',
};

interface PoolRow {
  readonly pool: GatePool;
  readonly decision: string;
  readonly observation: string;
  readonly at: number;
  readonly position: number;
  readonly released_at: number | null;
}

/** Keeps the pools in a table, some time behind: a decision waits for nothing. */
export class PoolStore {
  readonly #database: Database;
  readonly #writes: WriteBehind<Kept>;
  readonly #now: () => number;

  /** @param now epoch milliseconds */
  constructor(database: Database, now: () => number, gaveUp: (error: unknown) => void) {
    this.#database = database;
    this.#now = now;
    this.#writes = new WriteBehind({ write: (kept) => this.#write(kept), gaveUp });
  }

  /** @param place of its ring: what takes the same place later pushes it out, here too */
  add(place: string, kept: Kept): void {
    this.#writes.set(place, kept);
  }

  /**
   * Takes an entry for the one release it may have, in this process or another.
   *
   * @returns undefined when it is not stored, so that only this process knows of it
   */
  async claim(obsId: string): Promise<boolean | undefined> {
    if (!this.#writes.open) return undefined;
    await this.#writes.flush();
    const claimed = await this.#database.statement(
      'update {gate.pool_entries} set released_at = ? where obs_id = ? and released_at is null',
      [this.#now(), obsId],
    );
    if (claimed.changes === 1) return true;
    const { rows } = await this.#database.statement('select 1 as known from {gate.pool_entries} where obs_id = ?', [
      obsId,
    ]);
    return rows.length > 0 ? false : undefined;
  }

  async unclaim(obsId: string): Promise<void> {
    if (!this.#writes.open) return;
    await this.#database.statement('update {gate.pool_entries} set released_at = null where obs_id = ?', [obsId]);
  }

  /** Oldest first. */
  async load(): Promise<readonly Kept[]> {
    const loaded: Kept[] = [];
    for (const pool of ['drop', 'sink', 'tool'] as const) {
      const { rows } = await this.#database.statement<PoolRow>(
        `select pool, decision, observation, at, position, released_at from {gate.pool_entries}
         where pool = ? order by at desc, position desc limit ?`,
        [pool, poolSize],
      );
      loaded.push(...rows.reverse().map(keptOf));
    }
    return loaded;
  }

  close(): Promise<void> {
    return this.#writes.close();
  }

  async #write(kept: readonly Kept[]): Promise<void> {
    // That an entry is released is only ever said by its claim.
    const rows = kept.map(({ item: { pool, observation, decision }, at, order }) => [
      observation.obs_id,
      pool,
      decision.session_key,
      JSON.stringify(decision),
      JSON.stringify(observation),
      at,
      order,
      null,
    ]);
    await insertRows(this.#database, target, rows);
    for (const pool of new Set(kept.map(({ item }) => item.pool))) {
      await this.#database.statement(
        `delete from {gate.pool_entries} where pool = ? and obs_id not in
           (select obs_id from {gate.pool_entries} where pool = ? order by at desc, position desc limit ?)`,
        [pool, pool, poolSize],
      );
    }
  }
}

function keptOf({ pool, decision, observation, at, position, released_at }: PoolRow): Kept {
  return {
    item: {
      pool,
      decision: frozen(JSON.parse(decision) as GateDecision),
      observation: frozen(JSON.parse(observation) as Observation),
    },
    at: Number(at),
    order: Number(position),
    released: released_at !== null,
  };
}

/** As a published observation and a decision are: themselves and their members. */
function frozen<T extends object>(value: T): T {
  for (const member of Object.values(value)) Object.freeze(member);
  return Object.freeze(value);
}
