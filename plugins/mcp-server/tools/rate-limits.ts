import { RpcFailure } from '../wire/failure.js';
import { parseRate, type Rate } from '../wire/rate.js';

interface Bucket {
  tokens: number;
  /** Milliseconds of the monotonic clock. */
  filledAt: number;
}

export interface ToolRateLimits {
  /** Takes one call out of the principal's bucket for the tool. @throws RpcFailure `RATE_LIMITED`. */
  take(principal: string, tool: string): void;
}

/** Buckets of principals that have not called for so long are full again and need not be kept. */
const mostBuckets = 10_000;

export function createToolRateLimits(
  limits: Readonly<Record<string, string>>,
  monotonic: () => number,
): ToolRateLimits {
  const rates = new Map<string, Rate>();
  for (const [tool, text] of Object.entries(limits)) {
    const rate = parseRate(text);
    if (rate) rates.set(tool, rate);
  }
  const buckets = new Map<string, Bucket>();
  return {
    take(principal, tool) {
      const rate = rates.get(tool);
      if (!rate) return;
      const key = `${tool}\n${principal}`;
      const now = monotonic();
      const bucket = buckets.get(key) ?? { tokens: rate.requests, filledAt: now };
      const perMs = rate.requests / (rate.seconds * 1_000);
      bucket.tokens = Math.min(rate.requests, bucket.tokens + (now - bucket.filledAt) * perMs);
      bucket.filledAt = now;
      // Taken out and put back: the map stays in order of last use.
      buckets.delete(key);
      buckets.set(key, bucket);
      if (buckets.size > mostBuckets) buckets.delete(buckets.keys().next().value as string);
      if (bucket.tokens < 1) {
        const waitMs = Math.ceil((1 - bucket.tokens) / perMs);
        throw new RpcFailure('RATE_LIMITED', `Tool "${tool}" is called too often.`, {
          details: { retry_after_ms: waitMs },
          retryAfterSeconds: Math.ceil(waitMs / 1_000),
        });
      }
      bucket.tokens -= 1;
    },
  };
}
