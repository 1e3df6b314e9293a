import { MortiseError, type Principal } from 'mortise/sdk';

/** Something that the caller's key does not allow, whatever the policy says. */
export interface AccessRefusal {
  readonly code: 'ACTOR_MISMATCH' | 'SPACE_FORBIDDEN';
  /** The audit reason. */
  readonly reason: string;
  /** The middle of a sentence. */
  readonly explanation: string;
  readonly hint?: string;
}

const actorMismatch: AccessRefusal = {
  code: 'ACTOR_MISMATCH',
  reason: 'actor_mismatch',
  explanation: 'this key acts for another user',
};

/**
 * Checks the actor that a request names: a key that is bound to an actor acts for no other.
 * @param claimedActor null when the request names none; it then acts for the key's own actor
 */
export function actorRefusal({ actor }: Principal, claimedActor: string | null): AccessRefusal | undefined {
  return actor === undefined || claimedActor === null || claimedActor === actor ? undefined : actorMismatch;
}

/** The caller's key does not allow the request (403). Thrown after its audit row is committed, where there is one. */
export class AccessRefused extends MortiseError {
  constructor({ code, explanation, hint }: AccessRefusal, details: Readonly<Record<string, unknown>> = {}) {
    super(code, `The request was refused: ${explanation}.`, {
      status: 403,
      details: { category: 'business', ...details },
      ...(hint === undefined ? {} : { hint }),
    });
  }
}
