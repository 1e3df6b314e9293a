import { isBlankText } from 'mortise/sdk';
import type { EffectivePolicy } from './effective-policy.js';

/** What the policy looks at. */
export interface PolicyQuestion {
  readonly space: string;
  readonly actorUserId: string | null;
  readonly kind: string | null;
  /** Number of evidence items that name something, plain references included. */
  readonly evidence: number;
  /** Code points of the text. */
  readonly length: number;
  readonly isBulk: boolean;
  readonly teamWriteEnabled: boolean;
  readonly policy: EffectivePolicy;
}

export type PolicyDecision =
  | { readonly kind: 'allow'; readonly reason: string }
  | {
      readonly kind: 'redirect' | 'reject';
      readonly reason: string;
      /** What is wrong, as the middle of a sentence. */
      readonly explanation: string;
    };

const SPACE = /^(?:private|team|org):/;
const MALFORMED_NAME = /\p{Cc}|\p{Surrogate}/u;
const LONGEST_NAME = 200;

function isMalformed(name: string): boolean {
  return isBlankText(name) || [...name].length > LONGEST_NAME || name.trim() !== name || MALFORMED_NAME.test(name);
}

/** Why a space cannot be used at all; undefined for a good one. */
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

/** What keeps a memory out of a shared space; the first match wins. */
function sharedProblem(question: PolicyQuestion): PolicyDecision | undefined {
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

/** Decides where a memory may be written. Private spaces take everything; shared ones what their policy allows. */
export function decide(question: PolicyQuestion): PolicyDecision {
  const problem = spaceProblem(question.space);
  if (problem !== undefined) return problem;
  if (question.space.startsWith('private:')) return { kind: 'allow', reason: 'private_space' };
  return sharedProblem(question) ?? { kind: 'allow', reason: 'policy_passed' };
}

/** Where a memory goes that a shared space does not take. */
export function privateSpaceOf(actorUserId: string | null): string {
  return `private:${actorUserId ?? 'unknown'}`;
}
