import { setTimeout as sleep } from 'node:timers/promises';
import {
  type GuardedFetch,
  isCodedError,
  isJsonObject,
  type JsonObject,
  readResponse,
  retryAfterMs,
} from 'mortise/sdk';
import { sendFailed } from './errors.js';

interface PlatformRequest {
  /** Name in error messages: `token API`. */
  readonly api: string;
  readonly method: 'GET' | 'POST';
  readonly url: URL;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: JsonObject;
  /** Milliseconds for one attempt. */
  readonly timeoutMs: number;
  /** Whether the request may be sent again although the first one may have had an effect. */
  readonly isRepeatable: boolean;
}

export interface PlatformAnswer {
  readonly status: number;
  /** Empty for anything but a JSON object. */
  readonly body: JsonObject;
}

/** Maximum bytes of a response. QQ's have a few hundred. */
const maxBytes = 262_144;
const maxRetries = 2;
const firstWaitMs = 200;
/** Also the upper limit of `Retry-After`. */
const maxWaitMs = 3_000;
/** Status of a request that had no effect. */
const throttled = 429;
/** Statuses of requests that may have had an effect. */
const unavailable = [502, 503, 504];

/**
 * Sends a request to QQ, with retries after transient failures. Every status is returned.
 * @throws channel_dispatch_failed, network_denied
 */
export async function askPlatform(
  fetch: GuardedFetch,
  request: PlatformRequest,
  signal: AbortSignal,
): Promise<PlatformAnswer> {
  for (let attempt = 0; ; attempt += 1) {
    const isLast = attempt === maxRetries;
    let waitMs = firstWaitMs * 2 ** attempt * (0.8 + 0.4 * Math.random());
    try {
      const { status, headers, body } = await askOnce(fetch, request, signal);
      const isTransient = status === throttled || (request.isRepeatable && unavailable.includes(status));
      if (isLast || !isTransient) return { status, body };
      waitMs = Math.min(retryAfterMs(headers) ?? waitMs, maxWaitMs);
    } catch (error) {
      signal.throwIfAborted();
      if (isCodedError(error)) throw error;
      const { name } = error as Error;
      if (name === 'TimeoutError') {
        throw sendFailed(`qq ${request.api} did not answer within ${request.timeoutMs / 1_000} s`, error);
      }
      if (isLast || !request.isRepeatable) throw sendFailed(`qq ${request.api} could not be reached`, error);
    }
    await sleep(waitMs, undefined, { signal });
  }
}

async function askOnce(
  fetch: GuardedFetch,
  { method, url, headers = {}, body, timeoutMs }: PlatformRequest,
  caller: AbortSignal,
): Promise<PlatformAnswer & { readonly headers: Headers }> {
  const response = await fetch(url, {
    method,
    headers: body ? { ...headers, 'content-type': 'application/json' } : headers,
    ...(body && { body: JSON.stringify(body) }),
    signal: AbortSignal.any([caller, AbortSignal.timeout(timeoutMs)]),
    redirect: 'manual',
    linkLocal: 'refused',
  });
  const { bytes, isCut } = await readResponse(response, maxBytes);
  return { status: response.status, headers: response.headers, body: isCut ? {} : parse(bytes.toString()) };
}

function parse(text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : {};
  } catch {
    return {};
  }
}

/** Describes a failed response. QQ's own text may quote the message, so only its code is reported. */
export function refusalText(api: string, { status, body }: PlatformAnswer): string {
  const code = body.code ?? body.err_code;
  return `qq ${api} returned status ${status}${typeof code === 'number' ? ` (code ${code})` : ''}`;
}
