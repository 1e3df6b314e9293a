/** What a project's policy says of texts that do not belong in a memory (`policy_json.content_guard`). */
export interface ContentGuardPolicy {
  readonly diff: 'off' | 'reject';
  readonly log: 'off' | 'reject';
  readonly secret: 'off' | 'warn' | 'reject' | 'redact';
}

export const defaultContentGuard: ContentGuardPolicy = { diff: 'off', log: 'off', secret: 'warn' };

function oneOf<T extends string>(value: unknown, allowed: readonly T[], initial: T): T {
  return allowed.find((one) => one === value) ?? initial;
}

/** Reads it out of a stored policy; what is no known value counts as not set. */
export function contentGuardPolicy(policy: Readonly<Record<string, unknown>>): ContentGuardPolicy {
  const value = policy.content_guard;
  const given: Readonly<Record<string, unknown>> = typeof value === 'object' && value !== null ? { ...value } : {};
  const initial = defaultContentGuard;
  return {
    diff: oneOf(given.diff, ['off', 'reject'], initial.diff),
    log: oneOf(given.log, ['off', 'reject'], initial.log),
    secret: oneOf(given.secret, ['off', 'warn', 'reject', 'redact'], initial.secret),
  };
}
