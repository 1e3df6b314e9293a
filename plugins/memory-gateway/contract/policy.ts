import { type CallContext, isJsonObject, type Logger, type Points } from 'mortise/sdk';

/** How a project's policy treats texts that do not belong in a memory (`policy_json.content_guard`). */
export interface ContentGuardPolicy {
  readonly diff: 'off' | 'reject';
  readonly log: 'off' | 'reject';
  readonly secret: 'off' | 'warn' | 'reject' | 'redact';
}

export const defaultContentGuard: ContentGuardPolicy = { diff: 'off', log: 'off', secret: 'warn' };

/** A value that is one of those allowed, else `initial`. */
export function oneOf<T extends string>(value: unknown, allowed: readonly T[], initial: T): T {
  return allowed.find((one) => one === value) ?? initial;
}

/** Reads the content guard of a stored policy. Unknown values are replaced by the defaults. */
export function contentGuardPolicy(policy: Readonly<Record<string, unknown>>): ContentGuardPolicy {
  const given = isJsonObject(policy.content_guard) ? policy.content_guard : {};
  const initial = defaultContentGuard;
  return {
    diff: oneOf(given.diff, ['off', 'reject'], initial.diff),
    log: oneOf(given.log, ['off', 'reject'], initial.log),
    secret: oneOf(given.secret, ['off', 'warn', 'reject', 'redact'], initial.secret),
  };
}

/** The tools whose requests `memory-policy` checks can reject and, for `memory_store`, redirect to another space. */
export const memoryPolicyTools = ['memory_store', 'evidence_upload'] as const;

export type MemoryPolicyTool = (typeof memoryPolicyTools)[number];

export interface MemoryPolicyFacts {
  /** Lower runs first; equal orders run by key. */
  readonly order: number;
  /** The tools it checks. */
  readonly tools: readonly MemoryPolicyTool[];
}

export interface MemoryPolicyRequest {
  readonly tool: MemoryPolicyTool;
  readonly actorUserId: string | null;
  /** For evidence: `evidence:<project>`. */
  readonly requestedSpace: string;
  readonly targetSpace: string;
  readonly kind: string | null;
  /** The text; for evidence its bytes as UTF-8. */
  readonly content: string;
  /** For evidence: `content_type`, and `title` if there is one. */
  readonly meta: Readonly<Record<string, unknown>>;
  readonly evidence: readonly Readonly<Record<string, unknown>>[];
}

export type MemoryPolicyVerdict =
  | { readonly kind: 'pass' }
  /** For evidence, which cannot be redirected, this is a reject. */
  | { readonly kind: 'redirect'; readonly space: string; readonly reason: string; readonly message: string }
  | { readonly kind: 'reject'; readonly reason: string; readonly message: string };

/** A check that a plugin contributes to `memory-policy`. */
export interface MemoryPolicy extends MemoryPolicyFacts {
  run(request: MemoryPolicyRequest, ctx: CallContext): MemoryPolicyVerdict | Promise<MemoryPolicyVerdict>;
}

/** One contribution to `memory-policy`. */
export interface MemoryPolicyCheck {
  readonly plugin: string;
  readonly key: string;
}

/** The active checks for a tool, in the order in which they run. */
export function memoryPolicyChecks(points: Points, tool: MemoryPolicyTool): readonly MemoryPolicyCheck[] {
  return points
    .list('memory-policy')
    .filter(({ active, facts }) => active && facts.tools.includes(tool))
    .sort((a, b) => a.facts.order - b.facts.order || (a.key < b.key ? -1 : 1))
    .map(({ key, plugin }) => ({ plugin, key }));
}

/**
 * Runs one check. Its reason is prefixed with the key of its plugin. A check that throws or exceeds its time limit rejects
 * with `internal_error`, so a broken check lets nothing pass.
 */
export async function runMemoryPolicy(
  points: Points,
  { plugin, key }: MemoryPolicyCheck,
  request: MemoryPolicyRequest,
  ctx: CallContext,
  log: Logger,
): Promise<MemoryPolicyVerdict> {
  try {
    const verdict = await points.call('memory-policy', key, (policy, inner) => policy.run(request, inner), ctx);
    if (verdict.kind === 'pass') return verdict;
    const { reason } = verdict;
    return { ...verdict, reason: reason.startsWith(`${plugin}:`) ? reason : `${plugin}:${reason}` };
  } catch (error) {
    log.error({ err: error, check: key }, 'A memory policy check failed; the request is rejected.');
    return { kind: 'reject', reason: 'internal_error', message: `the check ${key} failed` };
  }
}
