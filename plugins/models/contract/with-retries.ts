import { setTimeout as sleep } from 'node:timers/promises';
import { type Failure, readFailure } from './provider-failure.js';

interface RetryOptions {
  /** Maximum number of retries. */
  readonly maxRetries: number;
  readonly wait: (ms: number) => Promise<unknown>;
  /** From 0 to 1. */
  readonly random: () => number;
  readonly read: (thrown: unknown) => Failure;
  /** Throws when the call was aborted: nothing is retried or translated then. */
  readonly check: () => void;
}

const firstWaitMs = 500;
const maxWaitMs = 10_000;
const jitter = 0.2;

/** Milliseconds before the given retry, from 1: `Retry-After`, at most 10 s, else 0.5 s doubled each time, ±20 %. */
export function waitBefore(retry: number, retryAfterMs: number | undefined, random: number): number {
  if (retryAfterMs !== undefined) return Math.min(retryAfterMs, maxWaitMs);
  return firstWaitMs * 2 ** (retry - 1) * (1 + jitter * (2 * random - 1));
}

/**
 * The only place where a request to a model API is retried. `attempt` must throw only before the first byte of an answer.
 * @throws the last failure
 */
export async function withRetries<T>(attempt: () => Promise<T>, options: RetryOptions): Promise<T> {
  for (let tried = 1; ; tried += 1) {
    try {
      return await attempt();
    } catch (thrown) {
      options.check();
      const failure = options.read(thrown);
      if (!failure.retryable || tried > options.maxRetries) throw failure.error(tried);
      await options.wait(waitBefore(tried, failure.retryAfterMs, options.random()));
    }
  }
}

/** {@link withRetries} with the clock and the signal of a call. */
export function retryRequest<T>(attempt: () => Promise<T>, maxRetries: number, signal: AbortSignal): Promise<T> {
  return withRetries(attempt, {
    maxRetries,
    wait: (ms) => sleep(ms, undefined, { signal }),
    random: Math.random,
    read: (thrown) => readFailure(thrown, Date.now()),
    check: () => signal.throwIfAborted(),
  });
}
