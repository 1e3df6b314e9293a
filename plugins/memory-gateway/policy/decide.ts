import {
  type ContentGuardPolicy,
  contentGuardPolicy,
  defaultContentGuard,
  oneOf,
} from 'mortise/contracts/memory-gateway';
import { isBlankText } from 'mortise/sdk';

/** A project's policy, with defaults for the keys that were not set. */
export interface EffectivePolicy {
  /** Who may write to shared spaces; empty: everyone. */
  readonly allowlist_users: readonly string[];
  /** Kinds allowed in shared spaces; empty: every kind. */
  readonly allowed_kinds: readonly string[];
  readonly require_evidence: boolean;
  readonly evidence_mode: string;
  /** Code points. */
  readonly max_chars: number;
  readonly bulk_mode: 'very_short' | 'reject' | 'allow';
  readonly bulk_max_chars: number;
  readonly dedup: 'exact' | 'off';
  readonly content_guard: ContentGuardPolicy;
}

export const defaultPolicy: EffectivePolicy = {
  allowlist_users: [],
  allowed_kinds: ['PROCEDURE', 'REVIEW_GUIDE', 'PITFALL', 'DECISION'],
  require_evidence: true,
  evidence_mode: 'compat',
  max_chars: 1_200,
  bulk_mode: 'very_short',
  bulk_max_chars: 200,
  dedup: 'exact',
  content_guard: defaultContentGuard,
};

export function isStringList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

function isLimit(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0;
}

/** Reads a stored policy. Values of the wrong type, which only a manual edit of the database can cause, are ignored. */
export function effectivePolicy(policy: Readonly<Record<string, unknown>>): EffectivePolicy {
  const initial = defaultPolicy;
  return {
    allowlist_users: isStringList(policy.allowlist_users) ? policy.allowlist_users : initial.allowlist_users,
    allowed_kinds: isStringList(policy.allowed_kinds) ? policy.allowed_kinds : initial.allowed_kinds,
    require_evidence: typeof policy.require_evidence === 'boolean' ? policy.require_evidence : initial.require_evidence,
    evidence_mode: typeof policy.evidence_mode === 'string' ? policy.evidence_mode : initial.evidence_mode,
    max_chars: isLimit(policy.max_chars) ? policy.max_chars : initial.max_chars,
    bulk_mode: oneOf(policy.bulk_mode, ['very_short', 'reject', 'allow'], initial.bulk_mode),
    bulk_max_chars: isLimit(policy.bulk_max_chars) ? policy.bulk_max_chars : initial.bulk_max_chars,
    dedup: oneOf(policy.dedup, ['exact', 'off'], initial.dedup),
    content_guard: contentGuardPolicy(policy),
  };
}

/** The input of a policy decision. */
export interface PolicyInput {
  readonly space: string;
  readonly actorUserId: string | null;
  readonly kind: string | null;
  /** Number of evidence items that have a URI, plain references included. */
  readonly evidence: number;
  /** Code points of the text. */
  readonly length: number;
  readonly isBulk: boolean;
  readonly teamWriteEnabled: boolean;
  readonly policy: EffectivePolicy;
}

type PolicyDecision =
  | { readonly kind: 'allow'; readonly reason: string }
  | {
      readonly kind: 'redirect' | 'reject';
      readonly reason: string;
      /** A sentence fragment. */
      readonly explanation: string;
    };

const SPACE = /^(?:private|team|org):/;
const MALFORMED_NAME = /\p{Cc}|\p{Surrogate}/u;
const MAX_NAME_LENGTH = 200;

function isMalformed(name: string): boolean {
  return isBlankText(name) || [...name].length > MAX_NAME_LENGTH || name.trim() !== name || MALFORMED_NAME.test(name);
}

/** Why a space is invalid; undefined when it is valid. */
export function spaceProblem(space: string): Exclude<PolicyDecision, { kind: 'allow' }> | undefined {
  if (!SPACE.test(space)) {
    const explanation = 'a space must start with private:, team: or org:';
    return { kind: 'reject', reason: 'unknown_space_type', explanation };
  }
  if (isMalformed(space.slice(space.indexOf(':') + 1))) {
    return { kind: 'reject', reason: 'invalid_space_name', explanation: 'the space name is empty or malformed' };
  }
  return undefined;
}

function redirect(reason: string, explanation: string): PolicyDecision {
  return { kind: 'redirect', reason, explanation };
}

/** Why a memory is not allowed in a shared space; the first match wins. */
function sharedProblem(question: PolicyInput): PolicyDecision | undefined {
  const { actorUserId, kind, evidence, length, isBulk, teamWriteEnabled, policy } = question;
  const isListed = actorUserId !== null && policy.allowlist_users.includes(actorUserId);
  if (!teamWriteEnabled) return redirect('team_write_disabled', 'team writing is switched off');
  if (policy.allowlist_users.length > 0 && !isListed) {
    return redirect('user_not_in_allowlist', 'the actor is not on the allowlist');
  }
  if (kind !== null && policy.allowed_kinds.length > 0 && !policy.allowed_kinds.includes(kind)) {
    const explanation = `kind ${kind} is not allowed; allowed: ${policy.allowed_kinds.join(', ')}`;
    return redirect(`kind_not_allowed:${kind}`, explanation);
  }
  if (policy.require_evidence && evidence === 0) {
    return redirect('missing_evidence', 'shared spaces require evidence');
  }
  if (length > policy.max_chars) {
    return redirect(
      `exceeds_max_chars:${length}>${policy.max_chars}`,
      `${length} characters, limit ${policy.max_chars}`,
    );
  }
  if (isBulk && policy.bulk_mode === 'very_short' && length > policy.bulk_max_chars) {
    return redirect('bulk_too_long', `bulk limit ${policy.bulk_max_chars} characters`);
  }
  if (isBulk && policy.bulk_mode === 'reject') {
    return redirect('bulk_not_allowed', 'bulk submissions are not allowed');
  }
  return undefined;
}

/** Decides whether a memory may be written to a space. Private spaces accept everything, shared ones what the policy allows. */
export function decide(question: PolicyInput): PolicyDecision {
  const problem = spaceProblem(question.space);
  if (problem !== undefined) return problem;
  if (question.space.startsWith('private:')) return { kind: 'allow', reason: 'private_space' };
  return sharedProblem(question) ?? { kind: 'allow', reason: 'policy_passed' };
}

/** The space of memories that are not allowed in a shared space. */
export function privateSpaceOf(actorUserId: string | null): string {
  return `private:${actorUserId ?? 'unknown'}`;
}
