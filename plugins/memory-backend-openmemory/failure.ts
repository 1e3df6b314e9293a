import { type BackendFailure, MortiseError } from 'mortise/sdk';

type Class = BackendFailure['details']['class'];
type Applied = BackendFailure['details']['applied'];

/** Whether the call that failed would have written something. */
export type Effect = 'writes' | 'reads';

/** Statuses after which the same call may succeed: the server is busy or not there, or it is not set up as it should be. */
const WAITING = new Set([408, 423, 425, 429, 502, 503, 504]);
/** Wrong key, address or dialect. Somebody will put that right, so what waits must not die of it. */
const MISCONFIGURED = new Set([401, 403, 404, 405, 407]);
/** Statuses that may come from a server, or something before it, that went on and did the work. */
const DOUBTFUL = new Set([500, 502, 504]);

function failure(kind: Class, message: string, details: Omit<BackendFailure['details'], 'class'>): MortiseError {
  return new MortiseError(`backend_${kind}`, message, {
    status: kind === 'unavailable' ? 503 : 502,
    retryable: kind === 'unavailable',
    details: { class: kind, ...details },
  });
}

/** A read changes nothing, so nothing of it can be in doubt. */
function doubt(effect: Effect): Applied {
  return effect === 'writes' ? 'unknown' : 'no';
}

/** No connection, or one that broke. `wasSent`: the request may have reached the server. */
export function connectionFailed(code: string, effect: Effect, wasSent: boolean): MortiseError {
  return failure('unavailable', `OpenMemory connection failed: ${code}`, {
    applied: wasSent ? doubt(effect) : 'no',
    problem: 'connection_error',
  });
}

export function timedOut(effect: Effect): MortiseError {
  return failure('unavailable', 'OpenMemory request timed out', { applied: doubt(effect), problem: 'timeout' });
}

/** The server, or something on the way to it, answered with anything but success. */
export function apiError(status: number, effect: Effect, retryAfterMs?: number): MortiseError {
  const kind =
    WAITING.has(status) || MISCONFIGURED.has(status) ? 'unavailable' : isPermanent(status) ? 'permanent' : 'failure';
  return failure(kind, `OpenMemory API error: ${status}`, {
    status,
    applied: DOUBTFUL.has(status) ? doubt(effect) : 'no',
    problem: `api_error_${status}`,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  });
}

function isPermanent(status: number): boolean {
  return status >= 400 && status < 500;
}

/** Success that cannot be understood. `why` never holds anything of the answer. */
export function invalidResponse(why: string, effect: Effect): MortiseError {
  return failure('failure', `OpenMemory gave an invalid response: ${why}`, {
    applied: doubt(effect),
    problem: 'invalid_response',
  });
}

/** The server says itself that it did not do what it was asked. */
export function refusedBySelf(): MortiseError {
  return failure('failure', 'OpenMemory reported a failure', { applied: 'no', problem: 'invalid_response' });
}

/** Nothing was sent. */
export function contentTooLong(limit: number): MortiseError {
  return failure('permanent', `OpenMemory takes at most ${limit} characters`, {
    applied: 'no',
    problem: 'content_too_long',
  });
}

/** Nothing was sent, because nobody said where to. */
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

/** Whether an error says that the server is not set up as this plugin was told. */
export function isMisconfigured(error: unknown): boolean {
  return MISCONFIGURED.has(statusOf(error) ?? 0);
}

/** Whether an error says that the server has no such route: it speaks the other dialect, or another language. */
export function isNoRoute(error: unknown): boolean {
  const status = statusOf(error);
  return status === 404 || status === 405;
}
