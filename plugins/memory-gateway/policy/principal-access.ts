import { type AccessRefusal, AccessRefused } from 'mortise/contracts/logbook';

export const spaceForbidden: AccessRefusal = {
  code: 'SPACE_FORBIDDEN',
  reason: 'space_forbidden',
  explanation: 'this key may not use that space',
  hint: 'Name a space that the key may use, such as private:<its actor>; without one the default space is used.',
};

/** An {@link AccessRefused} with its REST response. Thrown after its audit row is committed. */
export class PrincipalRefused extends AccessRefused {
  /** The audit reason. */
  readonly reason: string;
  /** The body of the REST response. */
  readonly result: object;

  constructor(refusal: AccessRefusal, space: string, result: object) {
    super(refusal, { space });
    this.reason = refusal.reason;
    this.result = result;
  }
}
