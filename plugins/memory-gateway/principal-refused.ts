import { MortiseError } from 'mortise/sdk';

/** A caller's key does not allow what it asks for. It is audited already. */
export class PrincipalRefused extends MortiseError {
  /** The audit reason. */
  readonly reason: string;
  /** What REST answers with. */
  readonly result: object;

  constructor(
    code: 'ACTOR_MISMATCH' | 'SPACE_FORBIDDEN',
    refusal: { readonly reason: string; readonly explanation: string; readonly space: string; readonly result: object },
  ) {
    super(code, `The request was refused: ${refusal.explanation}.`, {
      status: 403,
      details: { category: 'business', space: refusal.space },
    });
    this.reason = refusal.reason;
    this.result = refusal.result;
  }
}
