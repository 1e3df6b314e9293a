import { MortiseError, type Principal } from 'mortise/sdk';

/** Something that the caller's key does not allow, whatever the policy says. */
export interface AccessRefusal {
  readonly code: 'ACTOR_MISMATCH' | 'SPACE_FORBIDDEN';
  /** The audit reason. */
  readonly reason: string;
  /** The middle of a sentence. */
  readonly explanation: string;
}

const actorMismatch: AccessRefusal = {
  code: 'ACTOR_MISMATCH',
  reason: 'actor_mismatch',
  explanation: 'this key acts for another user',
};

export const spaceForbidden: AccessRefusal = {
  code: 'SPACE_FORBIDDEN',
  reason: 'space_forbidden',
  explanation: 'this key may not use that space',
};

const defaultSpaces = ['team:*', 'org:*'];

/** Principals without a key of their own: no key, the one key of the server. */
const unboundPrincipals = new Set(['local', 'default']);

/** A glob over spaces: `*` matches any text, `?` one character. */
function matchesGlob(glob: string, space: string): boolean {
  const pattern = glob
    .replaceAll(/[.+^${}()|[\]\\]/g, '\\$&')
    .replaceAll('*', '.*')
    .replaceAll('?', '.');
  return new RegExp(`^${pattern}$`, 'su').test(space);
}

/** A key that is bound to an actor acts for no other. */
export function actorRefusal({ actor }: Principal, claimedActor: string | null): AccessRefusal | undefined {
  return actor === undefined || claimedActor === null || claimedActor === actor ? undefined : actorMismatch;
}

/**
 * Whether a principal may read and write a space. A bound principal may use its own private space and those that its key
 * names; an unbound one may use every space.
 */
export function mayUseSpace({ id, actor, spaces }: Principal, space: string): boolean {
  const isBound = actor !== undefined || spaces !== undefined || !unboundPrincipals.has(id);
  if (!isBound) return true;
  if (actor !== undefined && space === `private:${actor}`) return true;
  return (spaces ?? defaultSpaces).some((glob) => matchesGlob(glob, space));
}

/** The caller's key does not allow the request. Thrown after its audit row is committed. */
export class PrincipalRefused extends MortiseError {
  /** The audit reason. */
  readonly reason: string;
  /** The body of the REST response. */
  readonly result: object;

  constructor({ code, reason, explanation }: AccessRefusal, space: string, result: object) {
    super(code, `The request was refused: ${explanation}.`, { status: 403, details: { category: 'business', space } });
    this.reason = reason;
    this.result = result;
  }
}
