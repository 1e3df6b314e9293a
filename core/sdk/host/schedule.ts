export interface ScheduleService {
  /** Wall clock, epoch milliseconds. */
  now(): number;
  /** Monotonic clock, milliseconds. */
  monotonic(): number;
}
