import { setTimeout as sleep } from 'node:timers/promises';
import type { GenerateRequest } from 'mortise/sdk';
import type { Clients } from './clients.js';
import type { Config } from './config.generated.js';
import { type OpenAnswer, openAnswer } from './open-answer.js';
import { type Failure, readFailure } from './read-failure.js';
import { requestBody } from './request-body.js';

/** Sends a request and returns the first bytes of its answer, with as many retries as the settings allow. */
type Opener = (request: GenerateRequest, settings: Config, signal: AbortSignal) => Promise<OpenAnswer>;

export function createOpener(clients: Clients): Opener {
  /** Addresses that refuse `stream_options`. */
  const withoutUsage = new Set<string>();
  return async (request, settings, signal) => {
    const client = await clients.of(settings);
    const { base_url: address, idle_timeout_ms: idleMs } = settings;
    const limits = { signal, idleMs };
    let asksUsage = request.stream && !withoutUsage.has(address);
    let body = requestBody(request, settings, asksUsage);
    const attempt = async (): Promise<OpenAnswer> => {
      try {
        return await openAnswer(client, body, limits);
      } catch (thrown) {
        if (!asksUsage || !readFailure(thrown, Date.now()).refusesUsage) throw thrown;
        withoutUsage.add(address);
        asksUsage = false;
        body = requestBody(request, settings, asksUsage);
        return openAnswer(client, body, limits);
      }
    };
    return withRetries(attempt, {
      most: settings.max_retries,
      wait: (ms) => sleep(ms, undefined, { signal }),
      random: Math.random,
      read: (thrown) => readFailure(thrown, Date.now()),
      check: () => signal.throwIfAborted(),
    });
  };
}

interface RetryOptions {
  /** The largest number of retries. */
  readonly most: number;
  readonly wait: (ms: number) => Promise<unknown>;
  /** From 0 to 1. */
  readonly random: () => number;
  readonly read: (thrown: unknown) => Failure;
  /** Throws when the call was aborted: nothing is retried or translated then. */
  readonly check: () => void;
}

const firstWaitMs = 500;
const longestWaitMs = 10_000;
const jitter = 0.2;

/** Milliseconds before the given retry, from 1: `Retry-After`, at most 10 s, else 0.5 s doubled each time, ±20 %. */
export function waitBefore(retry: number, retryAfterMs: number | undefined, random: number): number {
  if (retryAfterMs !== undefined) return Math.min(retryAfterMs, longestWaitMs);
  return firstWaitMs * 2 ** (retry - 1) * (1 + jitter * (2 * random - 1));
}

/**
 * The only place where a request is retried. `attempt` must throw only before the first byte of an answer.
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
