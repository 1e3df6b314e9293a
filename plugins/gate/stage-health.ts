import { Latency } from './latency.js';

export type StageState = 'ok' | 'slow' | 'open';

const overrunWindow = 1_000;
/** Calls before a share of overruns says anything. */
const overrunFloor = 100;
/** More than this share of the window over budget is slow. */
const overrunShare = 0.01;
const failureLimit = 5;
const failureWindowMs = 60_000;
const bypassMs = 30_000;

/** What is known of one stage: how often it failed, how long it took, and whether it is trusted at the moment. */
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

  /** False while the stage is bypassed. When its time is over, one call decides. */
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

  /** It did something wrong that costs its judgement nothing. */
  slipped(): void {
    this.failed += 1;
  }

  /** @returns whether it has failed too often in too short a time */
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
