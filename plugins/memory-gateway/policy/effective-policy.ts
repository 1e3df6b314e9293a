import { type ContentGuardPolicy, contentGuardPolicy, defaultContentGuard } from 'mortise/contracts/memory-gateway';

/** A project's policy with defaults in the place of what was not set. */
export interface EffectivePolicy {
  /** Who may write to shared spaces; empty: everyone. */
  readonly allowlist_users: readonly string[];
  /** Kinds that shared spaces take; empty: every kind. */
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

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

function isLimit(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0;
}

function oneOf<T extends string>(value: unknown, allowed: readonly T[], initial: T): T {
  return allowed.find((one) => one === value) ?? initial;
}

/** Reads a stored policy. A value of the wrong type, which only a hand in the database can leave, counts as not set. */
export function effectivePolicy(policy: Readonly<Record<string, unknown>>): EffectivePolicy {
  const initial = defaultPolicy;
  return {
    allowlist_users: isTexts(policy.allowlist_users) ? policy.allowlist_users : initial.allowlist_users,
    allowed_kinds: isTexts(policy.allowed_kinds) ? policy.allowed_kinds : initial.allowed_kinds,
    require_evidence: typeof policy.require_evidence === 'boolean' ? policy.require_evidence : initial.require_evidence,
    evidence_mode: typeof policy.evidence_mode === 'string' ? policy.evidence_mode : initial.evidence_mode,
    max_chars: isLimit(policy.max_chars) ? policy.max_chars : initial.max_chars,
    bulk_mode: oneOf(policy.bulk_mode, ['very_short', 'reject', 'allow'], initial.bulk_mode),
    bulk_max_chars: isLimit(policy.bulk_max_chars) ? policy.bulk_max_chars : initial.bulk_max_chars,
    dedup: oneOf(policy.dedup, ['exact', 'off'], initial.dedup),
    content_guard: contentGuardPolicy(policy),
  };
}
