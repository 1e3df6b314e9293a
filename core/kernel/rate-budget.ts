/** So many in a window of time; the rest is refused and counted. */
export class RateBudget {
  /** Refused since the beginning. */
  refused = 0;
  readonly #limit: number;
  readonly #windowMs: number;
  readonly #now: () => number;
  readonly #onRefuse: () => void;
  #windowEnd = 0;
  #taken = 0;

  /** `onRefuse` is called for the first one that is refused in a window. */
  constructor(limit: number, windowMs: number, now: () => number, onRefuse: () => void) {
    this.#limit = limit;
    this.#windowMs = windowMs;
    this.#now = now;
    this.#onRefuse = onRefuse;
  }

  take(): boolean {
    const now = this.#now();
    if (now >= this.#windowEnd) {
      this.#windowEnd = now + this.#windowMs;
      this.#taken = 0;
    }
    this.#taken += 1;
    if (this.#taken <= this.#limit) return true;
    this.refused += 1;
    if (this.#taken === this.#limit + 1) this.#onRefuse();
    return false;
  }
}
