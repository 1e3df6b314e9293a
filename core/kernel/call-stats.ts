const kept = 256;

/** Counts and recent durations of one contribution. */
export class CallStats {
  calls = 0;
  errors = 0;
  inFlight = 0;
  /** Sum of all durations, milliseconds. */
  total = 0;
  readonly #recent = new Float64Array(kept);
  readonly #observe: ((milliseconds: number, failed: boolean) => void) | undefined;

  constructor(observe?: (milliseconds: number, failed: boolean) => void) {
    this.#observe = observe;
  }

  record(milliseconds: number, failed: boolean): void {
    this.#recent[this.calls % kept] = milliseconds;
    this.calls += 1;
    this.inFlight -= 1;
    this.total += milliseconds;
    if (failed) this.errors += 1;
    this.#observe?.(milliseconds, failed);
  }

  /** Of the last 256 calls, milliseconds; null before the first one. */
  percentile(share: number): number | null {
    const count = Math.min(this.calls, kept);
    if (count === 0) return null;
    const sorted = Float64Array.from(this.#recent.subarray(0, count)).sort();
    return sorted[Math.min(count - 1, Math.floor(share * count))] ?? null;
  }
}
