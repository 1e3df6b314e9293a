export interface Backoff {
  /** Seconds before the first retry. */
  readonly base: number;
  /** Seconds that no wait is longer than, but for its jitter. */
  readonly max: number;
}

const JITTER = 0.3;

/**
 * Whole seconds to wait before the next attempt, after `retries` earlier ones: twice as long each time, with a jitter of
 * 30 % so that rows that failed together do not come back together.
 *
 * @param random from 0 to below 1
 */
export function backoffSeconds(retries: number, { base, max }: Backoff, random: number): number {
  const wait = Math.min(base * 2 ** retries, max);
  return Math.max(1, Math.trunc(wait * (1 + JITTER * (2 * random - 1))));
}
