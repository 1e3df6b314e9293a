/** Ids of events that came in, for a day and at most ten thousand of them: the least recently seen go first. */
const idLimit = 10_000;
const keptMs = 24 * 3_600_000;

export class RecentIds {
  readonly #seen = new Map<string, { readonly obsId: string; readonly at: number }>();
  readonly #monotonic: () => number;

  constructor(monotonic: () => number) {
    this.#monotonic = monotonic;
  }

  /** The observation that an event of this id became; undefined when it is new. */
  find(source: string, rawId: string): string | undefined {
    const name = `${source}\n${rawId}`;
    const known = this.#seen.get(name);
    if (!known) return undefined;
    this.#seen.delete(name);
    if (this.#monotonic() - known.at >= keptMs) return undefined;
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
