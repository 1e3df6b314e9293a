import type { FailureClass } from 'mortise/contracts/logbook';
import { isCodedError, MortiseError } from 'mortise/sdk';

/** A failed backend call, classified. */
export interface BackendFailure {
  readonly class: FailureClass;
  /** As audit reasons name it, e.g. `api_error_503`. */
  readonly detail: string;
  readonly message: string;
  /** `unknown`: the request was sent, and the backend may have applied it. */
  readonly applied: 'no' | 'unknown';
  readonly retryAfterMs: number | null;
  readonly status: number | null;
  /** The backend answers, but rejects the key, address or method. */
  readonly isMisconfigured: boolean;
}

const misconfigured: readonly number[] = [401, 403, 404, 405, 407];
const problems = /^(connection_error|timeout|invalid_response|content_too_long|api_error_\d{3})$/;

/** Platform errors for calls that cannot be made or do not end. */
const platformCodes: Readonly<Record<string, Pick<BackendFailure, 'detail' | 'applied'>>> = {
  call_timeout: { detail: 'timeout', applied: 'unknown' },
  call_aborted: { detail: 'connection_error', applied: 'unknown' },
  contribution_unknown: { detail: 'connection_error', applied: 'no' },
};

function isClass(value: unknown): value is FailureClass {
  return value === 'unavailable' || value === 'failure' || value === 'permanent';
}

/** A sentence about a failure, without address, key or content. */
export function failureText(error: unknown): string {
  return isCodedError(error) ? error.message : 'the memory backend failed unexpectedly';
}

/** Classifies an error of a backend. An error without a class is a `failure` that may have been applied. */
export function readFailure(error: unknown): BackendFailure {
  const message = failureText(error);
  const unclassified = { message, retryAfterMs: null, status: null, isMisconfigured: false };
  if (!isCodedError(error)) return { ...unclassified, class: 'failure', detail: 'unknown', applied: 'unknown' };
  const platform = platformCodes[error.code];
  if (platform !== undefined) return { ...unclassified, ...platform, class: 'unavailable' };
  const details = error.details ?? {};
  if (!isClass(details.class)) return { ...unclassified, class: 'failure', detail: 'unknown', applied: 'unknown' };
  const status = typeof details.status === 'number' ? details.status : null;
  const named = typeof details.problem === 'string' && problems.test(details.problem) ? details.problem : null;
  const unnamed = details.class === 'unavailable' ? 'connection_error' : 'invalid_response';
  return {
    message,
    class: details.class,
    detail: named ?? (status === null ? unnamed : `api_error_${status}`),
    applied: details.applied === 'no' ? 'no' : 'unknown',
    retryAfterMs: typeof details.retryAfterMs === 'number' ? details.retryAfterMs : null,
    status,
    isMisconfigured: status !== null && misconfigured.includes(status),
  };
}

/** The error of a call while the circuit is open. */
export function circuitOpen(lastError: string | null): MortiseError {
  const why = lastError === null ? '' : `: ${lastError}`;
  return new MortiseError(
    'backend_circuit_open',
    `The memory backend failed too often and is not called at the moment${why}`,
    {
      status: 503,
      retryable: true,
      details: { class: 'unavailable', applied: 'no' },
    },
  );
}

export function isCircuitOpen(error: unknown): boolean {
  return isCodedError(error) && error.code === 'backend_circuit_open';
}
