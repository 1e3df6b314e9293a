export interface ScheduleService {
  /** Wall clock, epoch milliseconds. */
  now(): number;
  /** Monotonic clock, milliseconds. */
  monotonic(): number;
  /**
   * The next moment after `after` (epoch milliseconds) that a five-field cron expression names in an IANA zone.
   * @throws MortiseError `invalid_cron` or `invalid_zone`.
   */
  next(expression: string, zone: string, after: number): number;
}
