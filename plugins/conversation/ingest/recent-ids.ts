import { LRUCache } from 'lru-cache';

const idLimit = 10_000;
const ttlMs = 24 * 3_600_000;

/** Ids of published events: at most 10,000, for 24 hours, least recently seen evicted first. */
export class RecentIds {
  readonly #seen: LRUCache<string, string>;

  constructor(monotonic: () => number) {
    this.#seen = new LRUCache({ max: idLimit, ttl: ttlMs, ttlResolution: 0, perf: { now: monotonic } });
  }

  /** The `obs_id` that an event was published under; undefined when it is new. */
  find(source: string, rawId: string): string | undefined {
    return this.#seen.get(`${source}\n${rawId}`);
  }

  remember(source: string, rawId: string, obsId: string): void {
    this.#seen.set(`${source}\n${rawId}`, obsId);
  }
}
