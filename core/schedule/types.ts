import type { Disposable, ScheduleService } from '../sdk/index.js';

/** Time as the scheduler sees it; tests bring their own. */
export interface Clock {
  /** Wall clock, epoch milliseconds. */
  now(): number;
  /** Milliseconds that never go back. */
  monotonic(): number;
  /** Runs once after `ms`; does not keep the process alive. */
  after(ms: number, run: () => void): Disposable;
  /** Runs soon after the beginning of each second; does not keep the process alive. */
  eachSecond(run: () => void): Disposable;
}

/** Runs things at times. All of it is disposable and none of it keeps the process alive. */
export interface Scheduler extends ScheduleService, Disposable {
  /**
   * Runs at every multiple of `ms` after now. One run at a time: ticks that pass during a run become a single run right
   * after it, and the grid stays where it was. What `run` throws goes to `onError`.
   */
  every(ms: number, run: () => unknown): Disposable;
  /**
   * Runs when the expression matches in the zone. One run at a time; moments missed in between become one.
   * @throws MortiseError `invalid_cron` or `invalid_zone`.
   */
  cron(expression: string, zone: string, run: () => unknown): Disposable;
}
