import type { Failure } from './read-failure.js';

export interface RetryOptions {
  /** How often a request is repeated. */
  readonly most: number;
  readonly wait: (ms: number) => Promise<unknown>;
  /** From 0 to 1. */
  readonly random: () => number;
  readonly read: (thrown: unknown) => Failure;
  /** Nothing is repeated, nor translated, once this throws: somebody ended the call. */
  readonly check: () => void;
}

const firstWaitMs = 500;
const longestWaitMs = 10_000;
const jitter = 0.2;

/** Milliseconds before the given repeat, from 1: as the API asked, at most 10 s, else 0.5 s doubled each time, ±20 %. */
export function waitBefore(repeat: number, retryAfterMs: number | undefined, random: number): number {
  if (retryAfterMs !== undefined) return Math.min(retryAfterMs, longestWaitMs);
  return firstWaitMs * 2 ** (repeat - 1) * (1 + jitter * (2 * random - 1));
}

/**
 * The one place where a request to the API is repeated. What `attempt` throws must come before the first byte of an answer.
 * @throws the last failure
 */
export async function withRetries<T>(attempt: () => Promise<T>, options: RetryOptions): Promise<T> {
  for (let tried = 1; ; tried += 1) {
    try {
      return await attempt();
    } catch (thrown) {
      options.check();
      const failure = options.read(thrown);
      if (!failure.retryable || tried > options.most) throw failure.error(tried);
      await options.wait(waitBefore(tried, failure.retryAfterMs, options.random()));
    }
  }
}
