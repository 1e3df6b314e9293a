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

/** A refusal of more bytes is none that a provider sends. */
const maxRefusalBytes = 4 * 1_024 * 1_024;

async function collect(body: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const bytes of body) {
    size += bytes.length;
    if (size > maxRefusalBytes) throw providerError('provider_request_failed', 'the refusal is too large');
    parts.push(bytes);
  }
  return Buffer.concat(parts);
}

/** A refusal may quote the key, which is the operator's and not the caller's. One that does not stays byte for byte. */
async function* withoutSecrets(
  head: RawHead,
  body: Buffer,
  own: readonly (readonly [name: string, value: string])[],
): AsyncGenerator<RawResponseEvent> {
  const secrets = own
    .filter(([name, value]) => isSensitiveName(name) && value !== '')
    .map(([, value]) => value.replace(/^\S+ /, ''));
  // What cannot be decoded cannot be cleaned: it is left out.
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
