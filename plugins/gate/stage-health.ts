export type StageState = 'ok' | 'slow' | 'open';

const overrunWindow = 1_000;
/** Calls before the share of overruns is meaningful. */
const overrunFloor = 100;
/** More than this share of the window over budget is slow. */
const overrunShare = 0.01;
const failureLimit = 5;
const failureWindowMs = 60_000;
const bypassMs = 30_000;

/** Failures, durations and the circuit breaker of one stage. */
export class StageHealth {
  readonly #budgetUs: number;
  readonly #overran = new Uint8Array(overrunWindow);
  readonly #failures: number[] = [];
  readonly latency = new Latency();
  calls = 0;
  failed = 0;
  overBudget = 0;
  #timed = 0;
  #recentOverruns = 0;
  #bypassUntil = 0;
  #trial = false;

  constructor(budgetUs: number) {
    this.#budgetUs = budgetUs;
  }

  /** @param now monotonic milliseconds */
  state(now: number): StageState {
    if (now < this.#bypassUntil || this.#trial) return 'open';
    return this.slow ? 'slow' : 'ok';
  }

  get slow(): boolean {
    const seen = Math.min(this.#timed, overrunWindow);
    return seen >= overrunFloor && this.#recentOverruns > seen * overrunShare;
  }

  /** False while the breaker bypasses the stage. After that, one trial call decides. */
  admits(now: number): boolean {
    if (this.#bypassUntil === 0) return true;
    return now >= this.#bypassUntil;
  }

  took(microseconds: number): void {
    const index = this.#timed % overrunWindow;
    const over = microseconds > this.#budgetUs ? 1 : 0;
    this.#recentOverruns += over - (this.#timed >= overrunWindow ? (this.#overran[index] ?? 0) : 0);
    this.#overran[index] = over;
    this.overBudget += over;
    this.#timed += 1;
    this.latency.record(microseconds);
  }

  succeeded(): void {
    if (this.#bypassUntil === 0) return;
    this.#bypassUntil = 0;
    this.#trial = false;
    this.#failures.length = 0;
  }

  /** Counts a failure that does not invalidate its decisions. */
  emittedInvalid(): void {
    this.failed += 1;
  }

  /** @param breaks opens the breaker. @returns whether the stage failed too often within the window */
  failure(now: number, breaks: boolean): boolean {
    this.failed += 1;
    this.#failures.push(now);
    while (this.#failures.length > failureLimit) this.#failures.shift();
    const oldest = this.#failures[0] ?? now;
    const tooOften = this.#failures.length >= failureLimit && now - oldest < failureWindowMs;
    if (breaks && (tooOften || this.#bypassUntil > 0)) {
      this.#bypassUntil = now + bypassMs;
      this.#trial = true;
    }
    return tooOften;
  }
}

/** Upper bounds in microseconds: each is a quarter more than the one before, from 1 µs to about 1 s. */
const bounds = Float64Array.from({ length: 64 }, (_, index) => 1.25 ** index);
const logStep = Math.log(1.25);

/** A histogram of durations in fixed memory. */
class Latency {
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
