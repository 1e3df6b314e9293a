import { type HttpService, MortiseError, type Refusal } from '../sdk/index.js';
import type { RateLimit } from '../settings/types.js';

interface Bucket {
  tokens: number;
  /** Monotonic milliseconds of the last refill. */
  at: number;
}

/** Above this number of buckets, full ones are removed. */
const sweepBucketsAbove = 10_000;

/** A token bucket per caller. */
export class RateLimiter {
  readonly #capacity: number;
  readonly #perMs: number;
  readonly #buckets = new Map<string, Bucket>();

  constructor(limit: RateLimit) {
    this.#capacity = limit.requests;
    this.#perMs = limit.requests / (limit.seconds * 1000);
  }

  /** Takes a token. @returns 0, or the milliseconds until there is one. */
  take(caller: string, now: number): number {
    const bucket = this.#buckets.get(caller);
    if (!bucket) {
      if (this.#buckets.size >= sweepBucketsAbove) this.#sweep(now);
      this.#buckets.set(caller, { tokens: this.#capacity - 1, at: now });
      return 0;
    }
    bucket.tokens = Math.min(this.#capacity, bucket.tokens + (now - bucket.at) * this.#perMs);
    bucket.at = now;
    if (bucket.tokens >= 1) {
      bucket.tokens -= 1;
      return 0;
    }
    return Math.max(1, Math.ceil((1 - bucket.tokens) / this.#perMs));
  }

  #sweep(now: number): void {
    for (const [caller, bucket] of this.#buckets) {
      if (bucket.tokens + (now - bucket.at) * this.#perMs >= this.#capacity) this.#buckets.delete(caller);
    }
  }
}

/** A bucket for each principal and each tool that has a limit, shared by all APIs. */
export function createToolLimits(
  rates: Readonly<Record<string, RateLimit>>,
  now: () => number,
  emitRefusal: (refusal: Refusal) => void,
): HttpService['admitToolCall'] {
  const limiters = new Map(Object.entries(rates).map(([tool, rate]) => [tool, new RateLimiter(rate)]));
  return (tool, { principal, correlationId }) => {
    const waitMs = limiters.get(tool)?.take(principal.id, now()) ?? 0;
    if (waitMs === 0) return;
    emitRefusal({ reason: 'rate_limited', subject: principal.id, target: tool, correlationId });
    throw new MortiseError('RATE_LIMITED', `Tool "${tool}" is called too often.`, {
      status: 429,
      details: { retry_after_ms: waitMs },
      retryable: true,
      retryAfterSeconds: Math.ceil(waitMs / 1000),
    });
  };
}

interface Failures {
  /** Monotonic milliseconds of the recent ones, oldest first. */
  readonly times: number[];
  /** Monotonic milliseconds until which the address is blocked; 0 = it is not. */
  blockedUntil: number;
}

const allowedFailures = 5;
const windowMs = 60_000;
const blockMs = 300_000;
const sweepAddressesAbove = 1_000;
/**
 * Counts failed authentications of sockets by address: after 5 within a minute, wrong keys from it are answered with
 * `rate_limited` for 5 minutes. A valid key is still accepted: others may share the address, and a guess is
 * answered over HTTP too.
 */
export class AuthFailures {
  readonly #addresses = new Map<string, Failures>();

  /** Seconds for which the address is still blocked; 0 = it is not. */
  blockedFor(address: string, now: number): number {
    const until = this.#addresses.get(address)?.blockedUntil ?? 0;
    return until > now ? Math.ceil((until - now) / 1000) : 0;
  }

  add(address: string, now: number): void {
    if (this.#addresses.size >= sweepAddressesAbove) this.#sweep(now);
    const failures = this.#addresses.get(address) ?? { times: [], blockedUntil: 0 };
    this.#addresses.set(address, failures);
    while ((failures.times[0] ?? now) < now - windowMs) failures.times.shift();
    failures.times.push(now);
    if (failures.times.length < allowedFailures) return;
    failures.blockedUntil = now + blockMs;
    failures.times.length = 0;
  }

  #sweep(now: number): void {
    for (const [address, { times, blockedUntil }] of this.#addresses) {
      if (blockedUntil <= now && (times.at(-1) ?? 0) < now - windowMs) this.#addresses.delete(address);
    }
  }
}
