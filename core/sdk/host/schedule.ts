export interface ScheduleService {
  /** Wall clock, epoch milliseconds. */
  now(): number;
  /** Monotonic clock, milliseconds. */
  monotonic(): number;
  /**
   * The next whole second after `after` (epoch milliseconds) that a cron expression matches in an IANA zone. Five fields,
   * six with leading seconds, or a macro such as `@daily`; a prefix `TZ=<zone> ` overrides `zone`. When both day fields are
   * restricted, a match of either suffices.
   * @throws MortiseError `invalid_cron` (`invalid cron expression: <reason>`) or `invalid_zone`.
   */
  next(expression: string, zone: string, after: number, options?: CronOptions): number;
}

export interface CronOptions {
  /** A local time skipped by a clock change: `shift` (the default) runs right after the gap, `skip` does not run. */
  readonly gap?: 'shift' | 'skip';
  /** A repeated local time: `auto` (the default) runs once, or twice when the hour field matches every hour. */
  readonly overlap?: 'auto' | 'first' | 'both';
}
