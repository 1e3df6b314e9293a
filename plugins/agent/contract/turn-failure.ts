import { MortiseError } from 'mortise/sdk';
import type { TurnFailure } from './turn.js';

/** The failure of a turn as an error for the caller. */
export function errorOf({ code, message, status, details, retryAfterSeconds }: TurnFailure): MortiseError {
  return new MortiseError(code, message, {
    status,
    ...(details === undefined ? {} : { details }),
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
  });
}
