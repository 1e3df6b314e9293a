import type { Users } from 'mortise/sdk';
import type { Config } from '../config.generated.js';
import type { UploadRequest } from './upload-request.js';

export type Owner =
  | {
      readonly kind: 'owner';
      /** Null: nobody, or a name that stands for no user. */
      readonly userId: string | null;
      /** To be made with the evidence. */
      readonly isNew: boolean;
    }
  | { readonly kind: 'unknown'; readonly actor: string };

const nobody: Owner = { kind: 'owner', userId: null, isNew: false };

/** Whose the evidence is. An actor that is no active user owns nothing, is made a user, or is refused, as configured. */
export async function checkOwner(
  { actorUserId: actor }: UploadRequest,
  users: Users,
  policy: Config['unknown_actor_policy'],
): Promise<Owner> {
  if (actor === null) return nobody;
  if (await users.isActive(actor)) return { kind: 'owner', userId: actor, isNew: false };
  if (policy === 'reject') return { kind: 'unknown', actor };
  return policy === 'auto_create' ? { kind: 'owner', userId: actor, isNew: true } : nobody;
}
