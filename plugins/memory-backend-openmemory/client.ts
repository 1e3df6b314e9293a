import { type GuardedFetch, type MemoryBackendContext, readResponse, retryAfterMs } from 'mortise/sdk';
import { apiError, connectionFailed, type Effect, invalidResponse, noAddress, timedOut } from './failure.js';

export type Headers = Readonly<Record<string, string>>;

interface ClientRequest {
  readonly method: 'GET' | 'POST';
  /** Begins with a slash. */
  readonly path: string;
  readonly headers: Headers;
  /** Sent as JSON. */
  readonly body?: object;
  readonly effect: Effect;
  readonly signal: AbortSignal;
}

/** A success, or a status that the caller expected. */
interface ClientResponse {
  readonly status: number;
  /** Parsed JSON; undefined for an expected status with another body. */
  readonly body: unknown;
}

/** HTTP client of one server. Redirects are not followed, because they could send the key elsewhere. */
export interface Client {
  /** @throws MortiseError with the details of a `BackendFailure`, for every status except 2xx and the expected ones. */
  send(request: ClientRequest, expected?: readonly number[]): Promise<ClientResponse>;
}

const maxResponseBytes = 8 * 1_048_576;

/** Reason of the invalid response for one that exceeds the size limit. */
export const tooLarge = 'larger than 8 MiB';

/** @param baseUrl when undefined, every request fails. */
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
      const { bytes, isCut } = await readResponse(response, maxResponseBytes);
      return { response, text: isCut ? undefined : bytes.toString() };
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
        throw apiError(response.status, request.effect, retryAfterMs(response.headers));
      }
      if (text === undefined) throw invalidResponse(tooLarge, request.effect);
      try {
        return { status: response.status, body: JSON.parse(text) };
      } catch {
        throw invalidResponse('not JSON', request.effect);
      }
    },
  };
}

function jsonOf(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

const errorCode = /^[A-Z0-9_]{1,64}$/;

/** Failures to connect: nothing of the request can have reached the server. */
const beforeConnection = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EAI_FAIL',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EADDRNOTAVAIL',
  'EPROTO',
  'UND_ERR_CONNECT_TIMEOUT',
]);
const beforeRequest = /^(?:ERR_TLS|ERR_SSL|CERT_|DEPTH_|SELF_SIGNED|UNABLE_TO_)/;

/** The code of a network error, from its chain of causes; `UNKNOWN` when there is none. Never contains an address. */
function networkCode(error: unknown): string {
  for (let current = error, depth = 0; current instanceof Error && depth < 5; current = current.cause, depth += 1) {
    const code: unknown = Reflect.get(current, 'code');
    if (typeof code === 'string' && errorCode.test(code)) return code;
    if (current instanceof AggregateError && current.errors.length > 0) return networkCode(current.errors[0]);
  }
  return 'UNKNOWN';
}

function mayHaveBeenSent(code: string): boolean {
  return !beforeConnection.has(code) && !beforeRequest.test(code);
}

/** The runtime's client reports a 407 as an error without code or message; no other error has that form. */
function isProxyChallenge(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error && cause.message === '' && Reflect.get(cause, 'code') === undefined;
}

const defaultBudgetMs = 30_000;
/** The caller has a timer too: the failure must be thrown before that one expires, or its details are lost. */
const marginMs = 50;

function budgetOf(timeoutMs: number): number {
  return timeoutMs > 0 ? Math.max(timeoutMs * 0.9, timeoutMs - marginMs) : defaultBudgetMs;
}

/** Runs within the time limit of a call, however many requests it takes. The signal aborts when the time is over. */
export async function withinBudget<R>(
  ctx: Pick<MemoryBackendContext, 'signal' | 'timeoutMs'>,
  run: (signal: AbortSignal) => Promise<R>,
): Promise<R> {
  const controller = new AbortController();
  const stop = () => controller.abort();
  const timer = setTimeout(stop, budgetOf(ctx.timeoutMs));
  if (ctx.signal.aborted) stop();
  else ctx.signal.addEventListener('abort', stop, { once: true });
  try {
    return await run(controller.signal);
  } finally {
    clearTimeout(timer);
    ctx.signal.removeEventListener('abort', stop);
  }
}
