import { privateSpaceOf } from '../policy/decide.js';
import { mayUseSpace } from '../policy/space-access.js';
import type { Objection } from './decision.js';
import type { StoreRequest } from './store-request.js';

/** What a principal may not ask for, whatever the policy says. */
export interface PrincipalObjection extends Objection {
  readonly code: 'ACTOR_MISMATCH' | 'SPACE_FORBIDDEN';
}

/** Whether the caller's key allows the actor and the space it names. */
export function checkPrincipal(request: StoreRequest): PrincipalObjection | undefined {
  const { principal, claimedActor, requestedSpace } = request;
  if (principal.actor !== undefined && claimedActor !== null && claimedActor !== principal.actor) {
    const explanation = 'this key acts for another user';
    return { code: 'ACTOR_MISMATCH', kind: 'reject', reason: 'actor_mismatch', explanation };
  }
  if (!mayUseSpace(principal, requestedSpace)) {
    const explanation = 'this key may not use that space';
    return { code: 'SPACE_FORBIDDEN', kind: 'reject', reason: 'space_forbidden', explanation };
  }
  return undefined;
}

/** The space of those whom nobody knows: what is put aside there is nobody's. */
const NOBODYS_SPACE = privateSpaceOf(null);

/** Whether the caller's key allows the space that the memory would be redirected to. */
export function checkRedirect(
  { principal, requestedSpace }: StoreRequest,
  space: string,
): PrincipalObjection | undefined {
  if (space === requestedSpace || space === NOBODYS_SPACE || mayUseSpace(principal, space)) return undefined;
  const explanation = 'this key may not use the space that the policy redirects to';
  return { code: 'SPACE_FORBIDDEN', kind: 'reject', reason: 'space_forbidden', explanation };
}
