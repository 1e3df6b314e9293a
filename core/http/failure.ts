import { isCodedError, MortiseError } from '../sdk/index.js';
import { RefusedRequest, refusalRows } from './refusal-rows.js';

/** An error as an envelope shows it. */
export interface Failure {
  readonly code: string;
  /** The code in the upper case of the memory routes. */
  readonly reason: string;
  /** 400 to 599. */
  readonly status: number;
  readonly message: string;
  readonly details: Readonly<Record<string, unknown>> | undefined;
  readonly hint: string | undefined;
  readonly retryAfterSeconds: number | undefined;
  /** Nobody gave the error a code: its cause belongs in the log, and nothing of it on the wire. */
  readonly unexpected: boolean;
}

const unexpected: Failure = {
  code: refusalRows.internal_error.code,
  reason: refusalRows.internal_error.reason,
  status: 500,
  message: refusalRows.internal_error.sentence,
  details: undefined,
  hint: undefined,
  retryAfterSeconds: undefined,
  unexpected: true,
};

/** Reads what was thrown: coded errors speak for themselves, everything else becomes `internal_error`. */
export function toFailure(error: unknown): Failure {
  if (!isCodedError(error)) return unexpected;
  return {
    code: error.code,
    reason: error instanceof RefusedRequest ? error.row.reason : error.code.toUpperCase(),
    status: errorStatus(error.status),
    message: error.message,
    details: error.details,
    hint: error instanceof MortiseError ? error.hint : undefined,
    retryAfterSeconds: error instanceof MortiseError ? error.retryAfterSeconds : undefined,
    unexpected: false,
  };
}

/** A thrown status is only believed when it is one of an error; 499 says that nobody listens, to someone who does. */
function errorStatus(status: number | undefined): number {
  if (status === 499) return 503;
  return status !== undefined && Number.isInteger(status) && status >= 400 && status <= 599 ? status : 500;
}
