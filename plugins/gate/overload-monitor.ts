import type { GateConfig } from 'mortise/contracts/gate';

/** Consecutive samples that switch it on and off. */
const samplesOn = 2;
const samplesOff = 4;

interface OverloadSample {
  /** 0 to 1; above 1 while the platform's reserve is used. */
  readonly busRatio: number;
  readonly lagMs: number;
}

/** Whether the process is overloaded: switched on by two consecutive bad samples, off by four good ones. */
export class OverloadMonitor {
  #overload = false;
  #bad = 0;
  #good = 0;
  #since: number | null = null;
  #alertedAt = Number.NEGATIVE_INFINITY;
  #last: OverloadSample = { busRatio: 0, lagMs: 0 };

  get overload(): boolean {
    return this.#overload;
  }

  /** Monotonic milliseconds of the last change; null before the first. */
  get since(): number | null {
    return this.#since;
  }

  get last(): OverloadSample {
    return this.#last;
  }

  /** @returns true when it was just switched on and the last alert is older than the cooldown */
  sample(sample: OverloadSample, limits: GateConfig['overload'], now: number): boolean {
    this.#last = sample;
    const { busRatio, lagMs } = sample;
    this.#bad = busRatio >= limits.bus_on || lagMs >= limits.lag_on_ms ? this.#bad + 1 : 0;
    this.#good = busRatio < limits.bus_off && lagMs < limits.lag_off_ms ? this.#good + 1 : 0;
    if (this.#overload && this.#good >= samplesOff) this.#switch(false, now);
    if (this.#overload || this.#bad < samplesOn) return false;
    this.#switch(true, now);
    if (now - this.#alertedAt < limits.cooldown_sec * 1_000) return false;
    this.#alertedAt = now;
    return true;
  }

  #switch(overload: boolean, now: number): void {
    this.#overload = overload;
    this.#since = now;
  }
}
