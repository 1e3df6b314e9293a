/** Time: clocks, intervals, cron. */
export { type Clock, createScheduler, type Scheduler, type SchedulerOptions, systemClock } from './scheduler.js';
