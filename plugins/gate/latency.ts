/** Upper bounds in microseconds: each is a quarter more than the one before, from 1 µs to about 1 s. */
const bounds = Float64Array.from({ length: 64 }, (_, index) => 1.25 ** index);
const logStep = Math.log(1.25);

/** A distribution of durations in fixed memory. */
export class Latency {
  readonly #counts = new Float64Array(bounds.length);
  #total = 0;

  record(microseconds: number): void {
    const index = microseconds <= 1 ? 0 : Math.min(Math.ceil(Math.log(microseconds) / logStep), bounds.length - 1);
    this.#counts[index] = (this.#counts[index] ?? 0) + 1;
    this.#total += 1;
  }

  /** Upper bound of the quantile in microseconds, one decimal; 0 before the first call. */
  quantile(share: number): number {
    let left = this.#total * share;
    if (this.#total === 0) return 0;
    for (let index = 0; index < bounds.length; index += 1) {
      left -= this.#counts[index] ?? 0;
      if (left <= 0) return Math.round((bounds[index] ?? 0) * 10) / 10;
    }
    return Math.round((bounds.at(-1) ?? 0) * 10) / 10;
  }
}
