import type { CallContext, Logger, MemoryPolicyRequest, MemoryPolicyVerdict, Points } from 'mortise/sdk';
import type { Objection, Redirect } from './decision.js';

export interface PolicyCheck {
  /** `memory-policy:<key>` */
  readonly stage: string;
  readonly plugin: string;
  readonly key: string;
}

export type CheckVerdict = { readonly kind: 'pass' } | Redirect | (Objection & { readonly kind: 'reject' });

/** The checks that plugins add for a tool, in order. */
export function policyChecks(points: Points, tool: string): readonly PolicyCheck[] {
  return points
    .list('memory-policy')
    .filter(({ active, facts }) => active && facts.tools.includes(tool))
    .sort((a, b) => a.facts.order - b.facts.order || (a.key < b.key ? -1 : 1))
    .map(({ key, plugin }) => ({ stage: `memory-policy:${key}`, plugin, key }));
}

/** Reasons of plugins carry the plugin's key, whether it says so or not. */
function ownReason(plugin: string, reason: string): string {
  return reason.startsWith(`${plugin}:`) ? reason : `${plugin}:${reason}`;
}

function verdictOf(plugin: string, verdict: MemoryPolicyVerdict): CheckVerdict {
  if (verdict.kind === 'pass') return verdict;
  const { reason, message: explanation } = verdict;
  if (verdict.kind === 'reject') return { kind: 'reject', reason: ownReason(plugin, reason), explanation };
  return { kind: 'redirect', reason: ownReason(plugin, reason), explanation, space: verdict.space };
}

/** Asks one check. One that throws, or takes too long, rejects: a memory must not pass because a check is broken. */
export async function runCheck(
  points: Points,
  check: PolicyCheck,
  request: MemoryPolicyRequest,
  ctx: CallContext,
  log: Logger,
): Promise<CheckVerdict> {
  try {
    const verdict = await points.call('memory-policy', check.key, (policy, inner) => policy.run(request, inner), ctx);
    return verdictOf(check.plugin, verdict);
  } catch (error) {
    log.error({ err: error, check: check.key }, 'A memory policy check failed; the memory is refused.');
    return { kind: 'reject', reason: 'internal_error', explanation: `the check ${check.key} failed` };
  }
}
