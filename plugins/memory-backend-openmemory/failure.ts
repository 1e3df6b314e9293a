import { type BackendFailure, MortiseError } from 'mortise/sdk';

type Class = BackendFailure['details']['class'];
type Applied = BackendFailure['details']['applied'];

/** Whether a call writes or only reads. */
export type Effect = 'writes' | 'reads';

/** Statuses after which the same call may succeed: the server is busy or unavailable. */
const retryableStatuses = new Set([408, 423, 425, 429, 502, 503, 504]);
/** Wrong key, address or dialect. Retryable too, because memories must wait until it is corrected. */
const misconfiguredStatuses = new Set([401, 403, 404, 405, 407]);
/** Statuses after which the server may nevertheless have applied the request. */
const ambiguousStatuses = new Set([500, 502, 504]);

function failure(kind: Class, message: string, details: Omit<BackendFailure['details'], 'class'>): MortiseError {
  return new MortiseError(`backend_${kind}`, message, {
    status: kind === 'unavailable' ? 503 : 502,
    retryable: kind === 'unavailable',
    details: { class: kind, ...details },
  });
}

/** A failed write may have been applied; a read has nothing to apply. */
function unknownIfWrite(effect: Effect): Applied {
  return effect === 'writes' ? 'unknown' : 'no';
}

/** The connection failed or broke. @param wasSent whether the request may have reached the server */
export function connectionFailed(code: string, effect: Effect, wasSent: boolean): MortiseError {
  return failure('unavailable', `OpenMemory connection failed: ${code}`, {
    applied: wasSent ? unknownIfWrite(effect) : 'no',
    problem: 'connection_error',
  });
}

export function timedOut(effect: Effect): MortiseError {
  return failure('unavailable', 'OpenMemory request timed out', {
    applied: unknownIfWrite(effect),
    problem: 'timeout',
  });
}

/** The server, or a proxy, answered with a status other than success. */
export function apiError(status: number, effect: Effect, retryAfterMs?: number): MortiseError {
  const kind =
    retryableStatuses.has(status) || misconfiguredStatuses.has(status)
      ? 'unavailable'
      : status >= 400 && status < 500
        ? 'permanent'
        : 'failure';
  return failure(kind, `OpenMemory API error: ${status}`, {
    status,
    applied: ambiguousStatuses.has(status) ? unknownIfWrite(effect) : 'no',
    problem: `api_error_${status}`,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  });
}

/** A success that cannot be read. @param why never contains anything of the response */
export function invalidResponse(why: string, effect: Effect): MortiseError {
  return failure('failure', `OpenMemory returned an invalid response: ${why}`, {
    applied: unknownIfWrite(effect),
    problem: 'invalid_response',
  });
}

/** The server reported in its body that it did not carry out the request. */
export function reportedFailure(): MortiseError {
  return failure('failure', 'OpenMemory reported a failure', { applied: 'no', problem: 'invalid_response' });
}

/** Nothing was sent. */
export function contentTooLong(limit: number): MortiseError {
  return failure('permanent', `OpenMemory accepts at most ${limit} characters`, {
    applied: 'no',
    problem: 'content_too_long',
  });
}

/** Nothing was sent, because no address is configured. */
export function noAddress(): MortiseError {
  return failure('unavailable', 'OpenMemory has no address: set OPENMEMORY_BASE_URL', {
    applied: 'no',
    problem: 'connection_error',
  });
}

function statusOf(error: unknown): number | undefined {
  const status = error instanceof MortiseError ? error.details?.status : undefined;
  return typeof status === 'number' ? status : undefined;
}

/** Whether an error suggests a wrong key, address or dialect. */
export function isMisconfigured(error: unknown): boolean {
  return misconfiguredStatuses.has(statusOf(error) ?? 0);
}

/** Whether the server lacks the route of a request: it may have the other dialect. */
export function isNoRoute(error: unknown): boolean {
  const status = statusOf(error);
  return status === 404 || status === 405;
}
