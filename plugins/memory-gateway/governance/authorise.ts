/** The credentials of a request to change the policy. */
export interface Credentials {
  readonly isKeyGiven: boolean;
  readonly isKeyConfigured: boolean;
  readonly isKeyValid: boolean;
  readonly actor: string | null;
  /** A claimed name counts only for local calls; otherwise the caller's key must be bound to it. */
  readonly isActorVerified: boolean;
  /** The stored list; empty when the policy has none. */
  readonly allowlist: readonly string[];
}

export type Authorisation =
  | { readonly kind: 'allow'; readonly reason: 'governance_update:admin_key' | 'governance_update:allowlist_user' }
  | {
      readonly kind: 'reject';
      readonly reason: string;
      /** A sentence fragment. */
      readonly explanation: string;
    };

function reject(reason: string, explanation: string): Authorisation {
  return { kind: 'reject', reason: `governance_update:${reason}`, explanation };
}

/** Authorises a request. Either credential suffices; a refusal reports the first reason that applies. */
export function authorise(given: Credentials): Authorisation {
  if (given.isKeyValid) return { kind: 'allow', reason: 'governance_update:admin_key' };
  if (given.actor !== null && given.isActorVerified && given.allowlist.includes(given.actor)) {
    return { kind: 'allow', reason: 'governance_update:allowlist_user' };
  }
  if (given.isKeyGiven) {
    return given.isKeyConfigured
      ? reject('invalid_admin_key', 'the admin key is wrong')
      : reject('admin_key_not_configured', 'this server has no admin key; set GOVERNANCE_ADMIN_KEY');
  }
  return given.actor === null
    ? reject('missing_credentials', 'neither admin_key nor actor_user_id was given')
    : reject('user_not_in_allowlist', 'the actor is not on the allowlist of this project');
}
