import type { RequestRate } from './http-settings.js';

interface Bucket {
  tokens: number;
  /** Monotonic milliseconds of the last refill. */
  at: number;
}

/** Buckets kept before those that have filled up again are forgotten. */
const sweepAbove = 10_000;

/** A token bucket per caller. */
export class RateLimiter {
  readonly #capacity: number;
  readonly #perMs: number;
  readonly #buckets = new Map<string, Bucket>();

  constructor(limit: RequestRate) {
    this.#capacity = limit.requests;
    this.#perMs = limit.requests / (limit.seconds * 1000);
  }

  /** Takes a token; 0 when there was one, else the milliseconds until there is one again. */
  take(caller: string, now: number): number {
    const bucket = this.#buckets.get(caller);
    if (!bucket) {
      if (this.#buckets.size >= sweepAbove) this.#sweep(now);
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
