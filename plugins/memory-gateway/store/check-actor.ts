import type { Users } from 'mortise/sdk';
import type { Config } from '../config.generated.js';
import type { Objection, Redirect } from './decision.js';
import type { StoreRequest } from './store-request.js';

export type ActorVerdict =
  | { readonly kind: 'pass'; readonly newUser: string | null }
  | Redirect
  | (Objection & { readonly kind: 'reject' });

/** Looks the actor up, and does with an unknown one what the configuration says: to every request of theirs. */
export async function checkActor(
  request: StoreRequest,
  users: Users,
  policy: Config['unknown_actor_policy'],
): Promise<ActorVerdict> {
  const actor = request.actorUserId;
  if (actor === null) return { kind: 'pass', newUser: null };
  if (await users.isActive(actor)) return { kind: 'pass', newUser: null };
  const explanation = `the actor ${actor} is unknown`;
  if (policy === 'auto_create') return { kind: 'pass', newUser: actor };
  if (policy === 'reject') return { kind: 'reject', reason: 'actor_unknown:reject', explanation };
  return { kind: 'redirect', reason: 'actor_unknown:degrade', explanation, space: 'private:unknown' };
}
