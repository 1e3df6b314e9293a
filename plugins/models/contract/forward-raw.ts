import {
  type CallContext,
  type GuardedFetch,
  isSensitiveName,
  type RawExchange,
  type RawResponseEvent,
  startDeadline,
} from 'mortise/sdk';
import { callLimits, headLimit } from './adapter-call.js';
import { decodeBody } from './decode-body.js';
import { providerError, timedOut } from './provider-error.js';
import { readFailure } from './provider-failure.js';

/** Headers that are not forwarded: those of one connection (RFC 9110, 7.6.1), and cookies. */
const hopHeaders: ReadonlySet<string> = new Set([
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

/** The account that an exchange is made with. */
export interface RawAccount {
  readonly baseUrl: string;
  /** Credentials and the provider's own headers; they override those of the client. */
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Forwards an exchange byte for byte with the provider's credentials: the head of the response, then its body as it
 * arrives. It is not retried, because the client retries.
 *
 * @throws provider_request_failed when the provider cannot be reached, breaks off, or takes too long
 */
export async function* forwardRaw(
  fetch: GuardedFetch,
  { method, path, headers, body, settings, startsAtOnce = false }: RawExchange,
  account: RawAccount,
  { signal }: CallContext,
): AsyncGenerator<RawResponseEvent> {
  const limits = callLimits(settings);
  const deadline = limits.timeoutMs > 0 ? startDeadline(limits.timeoutMs, signal) : undefined;
  const own = Object.entries(account.headers).map(([name, value]) => [name.toLowerCase(), value] as const);
  try {
    const response = await fetch.bytes(rawUrl(account.baseUrl, path), {
      method,
      headers: { ...requestHeaders(headers), ...Object.fromEntries(own) },
      ...(method === 'GET' ? {} : { body }),
      signal: deadline?.signal ?? signal,
      headMs: headLimit(limits, startsAtOnce),
      idleMs: limits.idleMs,
    });
    const head = { type: 'head', status: response.status, headers: forwardedHeaders(response.headers) } as const;
    if (response.status >= 400) yield* withoutSecrets(head, await collect(response.body), own);
    else {
      yield head;
      for await (const bytes of response.body) yield { type: 'body', bytes };
    }
  } catch (error) {
    signal.throwIfAborted();
    throw deadline?.expired ? timedOut() : readFailure(error, Date.now()).error(1);
  } finally {
    deadline?.close();
  }
}

type RawHead = Extract<RawResponseEvent, { type: 'head' }>;

/** Maximum size of an error response. */
const maxErrorBytes = 4 * 1_024 * 1_024;

async function collect(body: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const bytes of body) {
    size += bytes.length;
    if (size > maxErrorBytes) throw providerError('provider_request_failed', 'the error response is too large');
    parts.push(bytes);
  }
  return Buffer.concat(parts);
}

/** Redacts the operator's key, which an error response may quote. Without a key in it, the response stays byte for byte. */
async function* withoutSecrets(
  head: RawHead,
  body: Buffer,
  own: readonly (readonly [name: string, value: string])[],
): AsyncGenerator<RawResponseEvent> {
  const secrets = own
    .filter(([name, value]) => isSensitiveName(name) && value !== '')
    .map(([, value]) => value.replace(/^\S+ /, ''));
  // A body that cannot be decoded cannot be redacted, so it is dropped.
  const text = await decodeBody(body, head.headers['content-encoding']).then(String, () => undefined);
  if (text !== undefined && !secrets.some((secret) => text.includes(secret))) {
    yield head;
    yield { type: 'body', bytes: body };
    return;
  }
  const { 'content-encoding': _, 'content-length': __, ...headers } = head.headers;
  yield { ...head, headers };
  const shown = secrets.reduce((cleaned, secret) => cleaned.replaceAll(secret, '[REDACTED]'), text ?? '');
  yield { type: 'body', bytes: Buffer.from(shown) };
}

/** The version may end the address and begin the path: it is used once. */
function rawUrl(baseUrl: string, path: string): string {
  if (!path.startsWith('/')) throw providerError('provider_request_failed', 'the path must begin with a slash');
  const isRepeated = /\/v\d+$/.test(baseUrl) && path.startsWith(`${baseUrl.slice(baseUrl.lastIndexOf('/'))}/`);
  return isRepeated ? `${baseUrl.slice(0, baseUrl.lastIndexOf('/'))}${path}` : `${baseUrl}${path}`;
}

/** `host` and `content-length` are set anew for the forwarded request. */
function requestHeaders(headers: RawExchange['headers']): RawExchange['headers'] {
  const kept = Object.entries(headers).filter(
    ([name]) => !hopHeaders.has(name) && name !== 'host' && name !== 'content-length',
  );
  return Object.fromEntries(kept);
}

function forwardedHeaders(
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
): Readonly<Record<string, string>> {
  const connection = String(headers.connection ?? '').toLowerCase();
  const named = new Set(connection.split(',').map((name) => name.trim()));
  const kept = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined || hopHeaders.has(name) || named.has(name)
      ? []
      : [[name, typeof value === 'string' ? value : value.join(', ')]],
  );
  return Object.fromEntries(kept) as Record<string, string>;
}
