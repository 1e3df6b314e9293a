import type { CallOptions } from './points.js';

/**
 * On whose behalf a call is made, for a call that it makes itself with options of its own. A context has these members
 * as getters: spread out, it would leave them behind.
 *
 * @example points.call('tool', key, run, { ...callOptions(ctx), timeoutMs: 5_000 });
 */
export function callOptions({ signal, principal, requestId, correlationId, trace }: CallOptions): CallOptions {
  return { signal, principal, requestId, correlationId, trace };
}
