const idLimit = 10_000;
const ttlMs = 24 * 3_600_000;

/** Ids of published events: at most 10,000, for 24 hours, least recently seen evicted first. */
export class RecentIds {
  readonly #seen = new Map<string, { readonly obsId: string; readonly at: number }>();
  readonly #monotonic: () => number;

  constructor(monotonic: () => number) {
    this.#monotonic = monotonic;
  }

  /** The `obs_id` that an event was published under; undefined when it is new. */
  find(source: string, rawId: string): string | undefined {
    const name = `${source}\n${rawId}`;
    const known = this.#seen.get(name);
    if (!known) return undefined;
    this.#seen.delete(name);
    if (this.#monotonic() - known.at >= ttlMs) return undefined;
    this.#seen.set(name, known);
    return known.obsId;
  }

  remember(source: string, rawId: string, obsId: string): void {
    this.#seen.set(`${source}\n${rawId}`, { obsId, at: this.#monotonic() });
    if (this.#seen.size <= idLimit) return;
    const [oldest] = this.#seen.keys();
    if (oldest !== undefined) this.#seen.delete(oldest);
  }
}
