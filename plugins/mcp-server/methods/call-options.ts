import type { CallOptions } from 'mortise/sdk';
import type { Caller } from '../method.js';

/** Who calls, for a lease. */
export function callOptions({ signal, principal, requestId, correlationId, trace }: Caller): CallOptions {
  return { signal, principal, requestId, correlationId, trace };
}
