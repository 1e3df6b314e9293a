import type { CallContext, GuardedFetch, RawExchange, RawResponseEvent } from 'mortise/sdk';
import { providerError } from './provider-error.js';
import { readFailure } from './provider-failure.js';

/** Headers of one connection, which do not belong to the response (RFC 9110, 7.6.1), and cookies. */
const ownHeaders: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'set-cookie',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** Limits of an exchange, milliseconds. */
const headMs = 600_000;
const idleMs = 120_000;

/** The account that an exchange is made with. */
export interface RawAccount {
  readonly baseUrl: string;
  /** Credentials and the provider's own headers; they override those of the client. */
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Forwards an exchange byte for byte with the provider's credentials: the head of the response, then its body as it
 * arrives. It is not retried, because the client has retries of its own.
 *
 * @throws provider_request_failed when the provider cannot be reached, or breaks off
 */
export async function* forwardRaw(
  fetch: GuardedFetch,
  { method, path, headers, body }: RawExchange,
  account: RawAccount,
  { signal }: CallContext,
): AsyncGenerator<RawResponseEvent> {
  const own = Object.entries(account.headers).map(([name, value]) => [name.toLowerCase(), value] as const);
  try {
    const response = await fetch.bytes(rawUrl(account.baseUrl, path), {
      method,
      headers: { ...requestHeaders(headers), ...Object.fromEntries(own) },
      ...(method === 'GET' ? {} : { body }),
      signal,
      headMs,
      idleMs,
    });
    yield { type: 'head', status: response.status, headers: forwardedHeaders(response.headers) };
    for await (const bytes of response.body) yield { type: 'body', bytes };
  } catch (error) {
    signal.throwIfAborted();
    throw readFailure(error, Date.now()).error(1);
  }
}

/** Both an address and a path may begin with the version: it is used once. */
function rawUrl(baseUrl: string, path: string): string {
  if (!path.startsWith('/')) throw providerError('provider_request_failed', 'the path must begin with a slash');
  const isRepeated = /\/v\d+$/.test(baseUrl) && path.startsWith(`${baseUrl.slice(baseUrl.lastIndexOf('/'))}/`);
  return isRepeated ? `${baseUrl.slice(0, baseUrl.lastIndexOf('/'))}${path}` : `${baseUrl}${path}`;
}

/** Address and length are those of the forwarded request. */
function requestHeaders(headers: RawExchange['headers']): RawExchange['headers'] {
  const kept = Object.entries(headers).filter(
    ([name]) => !ownHeaders.has(name) && name !== 'host' && name !== 'content-length',
  );
  return Object.fromEntries(kept);
}

function forwardedHeaders(
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
): Readonly<Record<string, string>> {
  const connection = String(headers.connection ?? '').toLowerCase();
  const named = new Set(connection.split(',').map((name) => name.trim()));
  const kept = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined || ownHeaders.has(name) || named.has(name)
      ? []
      : [[name, typeof value === 'string' ? value : value.join(', ')]],
  );
  return Object.fromEntries(kept) as Record<string, string>;
}
