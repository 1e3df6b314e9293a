import type { GateIngest, GatePool, TakenEntry } from 'mortise/contracts/gate';
import { type Observation, redactSecrets } from 'mortise/sdk';

export const poolSize = 200;
const previewLength = 200;
/** Characters searched for secrets: more than the preview, so that a secret at its end is still recognised. */
const previewSource = 2_000;

/** One pool entry as the API shows it. */
interface PoolEntry {
  readonly obs_id: string;
  readonly session_key: string;
  readonly obs_type: string;
  readonly scene: string;
  readonly action: string;
  readonly reason: string;
  readonly reasons: readonly string[];
  readonly score: number;
  readonly trace_id: string;
  /** RFC 3339. */
  readonly at: string;
  readonly preview: string;
  readonly quality_flags: readonly string[];
  readonly tags: Readonly<Record<string, string>>;
  readonly released: boolean;
}

/** One entry of a ring. */
export interface PooledItem {
  readonly item: GateIngest;
  readonly at: number;
  /** Order of entries within one millisecond. */
  readonly order: number;
  released: boolean;
}

/** Stores entries beyond the process. */
export interface PoolPersistence {
  /** @param place the entry's place in its ring; a later entry of the same place replaces it */
  add(place: string, entry: PooledItem): void;
  /** Claims an entry for its one release. @returns undefined when it is not stored */
  claim(obsId: string): Promise<boolean | undefined>;
  unclaim(obsId: string): Promise<void>;
}

/** The newest dropped, sunk, and tool observations: a ring of 200 in memory for each pool, optionally persisted. */
export class Pools {
  readonly #rings: Readonly<Record<GatePool, { entries: PooledItem[]; next: number; total: number }>> = {
    drop: { entries: [], next: 0, total: 0 },
    sink: { entries: [], next: 0, total: 0 },
    tool: { entries: [], next: 0, total: 0 },
  };
  readonly #now: () => number;
  readonly #persistence: PoolPersistence | undefined;

  /** @param now epoch milliseconds */
  constructor(now: () => number, persistence?: PoolPersistence) {
    this.#now = now;
    this.#persistence = persistence;
  }

  ingest(items: readonly GateIngest[]): void {
    for (const item of items) {
      const entry = { item, at: this.#now(), order: this.#rings[item.pool].total, released: false };
      const place = this.#put(entry);
      this.#persistence?.add(place, entry);
    }
  }

  /** Restores stored entries, given oldest first. */
  restore(entries: readonly PooledItem[]): void {
    for (const entry of entries) this.#put(entry);
  }

  total(pool: GatePool): number {
    return this.#rings[pool].total;
  }

  /** The entries that `mayShow` selects, newest first. */
  recent(pool: GatePool, limit = 20, mayShow: (item: GateIngest) => boolean = () => true): readonly PoolEntry[] {
    return this.#newestFirst(pool)
      .filter(({ item }) => mayShow(item))
      .slice(0, limit)
      .map(entryOf);
  }

  /** Takes an entry for its one release. */
  async take(pool: GatePool, obsId: string): Promise<TakenEntry> {
    const entry = this.#newestFirst(pool).find(({ item }) => item.observation.obs_id === obsId);
    if (!entry) return { ok: false, reason: 'not_found' };
    if (entry.released) return { ok: false, reason: 'already_released' };
    entry.released = true;
    try {
      // Another process may have released it. An entry that is not stored is known to this process only.
      if ((await this.#persistence?.claim(obsId)) === false) return { ok: false, reason: 'already_released' };
    } catch (error) {
      entry.released = false;
      throw error;
    }
    const undo = async (): Promise<void> => {
      await this.#persistence?.unclaim(obsId);
      entry.released = false;
    };
    const { observation, principal } = entry.item;
    return { ok: true, observation, principal, undo };
  }

  /** @returns the name of its place */
  #put(entry: PooledItem): string {
    const { pool } = entry.item;
    const ring = this.#rings[pool];
    const place = `${pool} ${ring.next}`;
    ring.entries[ring.next] = entry;
    ring.next = (ring.next + 1) % poolSize;
    ring.total += 1;
    return place;
  }

  #newestFirst(pool: GatePool): readonly PooledItem[] {
    const { entries, next } = this.#rings[pool];
    return [...entries.slice(next), ...entries.slice(0, next)].reverse();
  }
}

function entryOf({ item: { observation, decision }, at, released }: PooledItem): PoolEntry {
  return {
    obs_id: observation.obs_id,
    session_key: decision.session_key,
    obs_type: observation.obs_type,
    scene: decision.scene,
    action: decision.action,
    reason: decision.reason,
    reasons: decision.reasons,
    score: decision.score ?? 0,
    trace_id: decision.trace_id,
    at: new Date(at).toISOString(),
    preview: previewOf(observation),
    quality_flags: observation.quality_flags,
    tags: decision.tags ?? {},
    released,
  };
}

function previewOf({ payload, obs_type: type }: Observation): string {
  const text = type === 'message' ? payload.text : type === 'world_data' ? payload.schema_id : undefined;
  if (typeof text !== 'string') return '';
  return [...redactSecrets(text.slice(0, previewSource))].slice(0, previewLength).join('');
}
