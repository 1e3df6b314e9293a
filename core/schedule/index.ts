/** Time: clocks, intervals, cron. */
export { nextRun } from './next-run.js';
export { type Clock, createScheduler, type Scheduler, type SchedulerOptions, systemClock } from './scheduler.js';
