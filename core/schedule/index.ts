/** Time: clocks, intervals, cron. */
export { systemClock } from './clock.js';
export { createManualClock, type ManualClock } from './manual-clock.js';
export { nextRun } from './next-run.js';
export { createScheduler, type SchedulerOptions } from './scheduler.js';
export type * from './types.js';
