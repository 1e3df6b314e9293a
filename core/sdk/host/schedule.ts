export interface ScheduleService {
  /** Wall clock, epoch milliseconds. */
  now(): number;
  /** Monotonic clock, milliseconds. */
  monotonic(): number;
  /**
   * The next whole second after `after` (epoch milliseconds) that a cron expression names in an IANA zone. Five fields,
   * six with leading seconds, or `@daily` and its like; a prefix `TZ=<zone> ` wins over `zone`. When both day fields are
   * restricted, either may match.
   * @throws MortiseError `invalid_cron` (`invalid cron expression: <reason>`) or `invalid_zone`.
   */
  next(expression: string, zone: string, after: number, options?: CronOptions): number;
}

export interface CronOptions {
  /** A local time that a clock change skips: `shift` runs at the first moment after the gap (the default), `skip` does not run. */
  readonly gap?: 'shift' | 'skip';
  /** A local time that happens twice: `auto` runs once, or twice when the hour field names every hour (the default). */
  readonly overlap?: 'auto' | 'first' | 'both';
}
