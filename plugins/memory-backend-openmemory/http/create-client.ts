import type { GuardedFetch } from 'mortise/sdk';
import { apiError, connectionFailed, type Effect, invalidResponse, noAddress, timedOut } from '../failure.js';
import { isProxyChallenge, mayHaveBeenSent, networkCode } from './error-code.js';
import { readCapped } from './read-capped.js';
import { retryAfterMs } from './retry-after.js';

export interface ClientRequest {
  readonly method: 'GET' | 'POST';
  /** From the first slash on. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: object;
  readonly effect: Effect;
  readonly signal: AbortSignal;
}

/** A success; or the status that the caller said it can deal with. */
export interface ClientAnswer {
  readonly status: number;
  /** Parsed JSON; undefined for an expected status whose body is none. */
  readonly body: unknown;
}

/** Talks HTTP with one server. Redirects are not followed: they could carry the key elsewhere. */
export interface Client {
  /** @throws MortiseError with the details of a `BackendFailure`, for every status beside 2xx and those expected. */
  send(request: ClientRequest, expected?: readonly number[]): Promise<ClientAnswer>;
}

const LARGEST_ANSWER = 8 * 1_048_576;

/** An answer larger than the client reads. */
export const TOO_LARGE = 'it is larger than 8 MiB';

function jsonOf(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** @param baseUrl Undefined: every request fails. */
export function createClient(fetch: GuardedFetch, baseUrl: string | undefined): Client {
  const base = baseUrl?.replace(/\/+$/, '');

  const exchange = async (request: ClientRequest): Promise<{ response: Response; text: string | undefined }> => {
    const { method, path, headers, body, effect, signal } = request;
    let isSent = false;
    try {
      const response = await fetch(`${base}${path}`, {
        method,
        headers: { accept: 'application/json', ...headers, ...(body && { 'content-type': 'application/json' }) },
        ...(body && { body: JSON.stringify(body) }),
        redirect: 'manual',
        signal,
      });
      isSent = true;
      return { response, text: await readCapped(response, LARGEST_ANSWER) };
    } catch (error) {
      if (signal.aborted) throw timedOut(effect);
      if (isProxyChallenge(error)) throw apiError(407, effect);
      const code = networkCode(error);
      throw connectionFailed(code, effect, isSent || mayHaveBeenSent(code));
    }
  };

  return {
    async send(request, expected = []) {
      if (base === undefined) throw noAddress();
      if (request.signal.aborted) throw timedOut('reads');
      const { response, text } = await exchange(request);
      if (expected.includes(response.status)) return { status: response.status, body: jsonOf(text) };
      if (!response.ok) {
        const wait = retryAfterMs(response.headers.get('retry-after'), Date.now());
        throw apiError(response.status, request.effect, wait);
      }
      if (text === undefined) throw invalidResponse(TOO_LARGE, request.effect);
      try {
        return { status: response.status, body: JSON.parse(text) };
      } catch {
        throw invalidResponse('it is no JSON', request.effect);
      }
    },
  };
}
