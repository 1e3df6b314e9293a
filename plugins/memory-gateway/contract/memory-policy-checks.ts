import type { CallContext, Logger, Points } from 'mortise/sdk';
import type { MemoryPolicyRequest, MemoryPolicyVerdict } from './memory-policy.js';

/** One contribution to `memory-policy`. */
export interface MemoryPolicyCheck {
  readonly plugin: string;
  readonly key: string;
}

/** The checks that plugins add for a tool, in the order in which they are asked. */
export function memoryPolicyChecks(points: Points, tool: MemoryPolicyRequest['tool']): readonly MemoryPolicyCheck[] {
  return points
    .list('memory-policy')
    .filter(({ active, facts }) => active && facts.tools.includes(tool))
    .sort((a, b) => a.facts.order - b.facts.order || (a.key < b.key ? -1 : 1))
    .map(({ key, plugin }) => ({ plugin, key }));
}

/** Reasons of plugins carry the plugin's key, whether it says so or not. */
function ownReason(plugin: string, reason: string): string {
  return reason.startsWith(`${plugin}:`) ? reason : `${plugin}:${reason}`;
}

/**
 * Asks one check. One that throws, or takes too long, rejects with `internal_error`: nothing must pass because a check is
 * broken.
 */
export async function askMemoryPolicy(
  points: Points,
  { plugin, key }: MemoryPolicyCheck,
  request: MemoryPolicyRequest,
  ctx: CallContext,
  log: Logger,
): Promise<MemoryPolicyVerdict> {
  try {
    const verdict = await points.call('memory-policy', key, (policy, inner) => policy.run(request, inner), ctx);
    return verdict.kind === 'pass' ? verdict : { ...verdict, reason: ownReason(plugin, verdict.reason) };
  } catch (error) {
    log.error({ err: error, check: key }, 'A memory policy check failed; what it was asked about is refused.');
    return { kind: 'reject', reason: 'internal_error', message: `the check ${key} failed` };
  }
}
