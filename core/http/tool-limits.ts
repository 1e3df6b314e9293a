import { type HttpService, MortiseError, type Refusal } from '../sdk/index.js';
import type { RequestRate } from './http-settings.js';
import { RateLimiter } from './rate-limit.js';

/** A bucket for each principal and each tool that has a limit; one for all doors that a call may come through. */
export function createToolLimits(
  rates: Readonly<Record<string, RequestRate>>,
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
