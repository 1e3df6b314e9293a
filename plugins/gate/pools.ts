import type { GateIngest, GatePool, TakenEntry } from 'mortise/contracts/gate';
import { type Observation, redactSecrets } from 'mortise/sdk';

export const poolSize = 200;
const previewLength = 200;
/** What is looked at for a preview: enough that a secret at its end is still known as one. */
const previewSource = 2_000;

/** One observation that was not delivered, as people see it. */
export interface PoolEntry {
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

/** One place of a ring. */
export interface Kept {
  readonly item: GateIngest;
  readonly at: number;
  /** Of several in one millisecond. */
  readonly order: number;
  released: boolean;
}

/** Where entries outlive the process. */
export interface PoolKeeper {
  add(place: string, kept: Kept): void;
  claim(obsId: string): Promise<boolean | undefined>;
  unclaim(obsId: string): Promise<void>;
}

/** The newest of what was dropped, sunk, or sunk from tools: a ring each, in memory, and with a keeper also beyond it. */
export class Pools {
  readonly #rings: Readonly<Record<GatePool, { kept: Kept[]; next: number; total: number }>> = {
    drop: { kept: [], next: 0, total: 0 },
    sink: { kept: [], next: 0, total: 0 },
    tool: { kept: [], next: 0, total: 0 },
  };
  readonly #now: () => number;
  readonly #keeper: PoolKeeper | undefined;

  /** @param now epoch milliseconds */
  constructor(now: () => number, keeper?: PoolKeeper) {
    this.#now = now;
    this.#keeper = keeper;
  }

  ingest(items: readonly GateIngest[]): void {
    for (const item of items) {
      const kept = { item, at: this.#now(), order: this.#rings[item.pool].total, released: false };
      const place = this.#put(kept);
      this.#keeper?.add(place, kept);
    }
  }

  /** What an earlier process has left, oldest first. */
  restore(all: readonly Kept[]): void {
    for (const kept of all) this.#put(kept);
  }

  total(pool: GatePool): number {
    return this.#rings[pool].total;
  }

  /** Newest first. */
  recent(pool: GatePool, limit = 20): readonly PoolEntry[] {
    return this.#newestFirst(pool).slice(0, limit).map(shown);
  }

  /** For a release, which an entry may have once. */
  async take(pool: GatePool, obsId: string): Promise<TakenEntry> {
    const kept = this.#newestFirst(pool).find(({ item }) => item.observation.obs_id === obsId);
    if (!kept) return { ok: false, reason: 'not_found' };
    if (kept.released) return { ok: false, reason: 'already_released' };
    kept.released = true;
    try {
      // Another process may have released it; what is not stored is known here alone.
      if ((await this.#keeper?.claim(obsId)) === false) return { ok: false, reason: 'already_released' };
    } catch (error) {
      kept.released = false;
      throw error;
    }
    const undo = async (): Promise<void> => {
      await this.#keeper?.unclaim(obsId);
      kept.released = false;
    };
    return { ok: true, observation: kept.item.observation, undo };
  }

  /** @returns the name of its place */
  #put(kept: Kept): string {
    const { pool } = kept.item;
    const ring = this.#rings[pool];
    const place = `${pool} ${ring.next}`;
    ring.kept[ring.next] = kept;
    ring.next = (ring.next + 1) % poolSize;
    ring.total += 1;
    return place;
  }

  #newestFirst(pool: GatePool): readonly Kept[] {
    const { kept, next } = this.#rings[pool];
    return [...kept.slice(next), ...kept.slice(0, next)].reverse();
  }
}

function shown({ item: { observation, decision }, at, released }: Kept): PoolEntry {
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
