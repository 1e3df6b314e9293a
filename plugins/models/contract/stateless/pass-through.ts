import {
  type ContributionCache,
  callOptions,
  createContributionCache,
  isCodedError,
  isJsonObject,
  type JsonObject,
  type Points,
  type RawExchange,
  type RawResponseEvent,
  type RouteContext,
  type RouteResponse,
} from 'mortise/sdk';
import { decodeBody } from '../decode-body.js';
import type { ResolvedModel } from '../models.js';
import { clientFailure, statelessError } from './errors.js';

/** The adapters that pass raw exchanges through. */
export function passableAdapters(points: Pick<Points, 'list' | 'onChange'>): ContributionCache<ReadonlySet<string>> {
  return createContributionCache(
    points,
    'provider',
    (all) => new Set(all.filter(({ active, offers }) => active && offers.includes('raw')).map(({ key }) => key)),
  );
}

/** The end of an answer that was passed through, as text. */
export interface PassedAnswer {
  readonly status: number;
  readonly streams: boolean;
  readonly text: string;
}

/** A response whose body has not been read yet. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Ending the iteration early aborts the request. */
  readonly body: AsyncIterable<Uint8Array>;
}

/**
 * Sends a request to the provider as it is and returns the head of the response.
 * @throws provider_not_configured, or provider_request_failed when the provider cannot be reached
 */
export async function openRaw(
  points: Points,
  { adapter, settings }: ResolvedModel,
  exchange: Omit<RawExchange, 'settings'>,
  ctx: RouteContext,
): Promise<RawAnswer> {
  const events = points.stream(
    'provider',
    adapter,
    (provider, call) => {
      if (!provider.raw)
        throw statelessError('provider_not_supported', { message: 'the adapter does not support pass-through' });
      return provider.raw({ ...exchange, settings }, call);
    },
    { ...callOptions(ctx), timeoutMs: 0 },
  );
  const iterator = events[Symbol.asyncIterator]();
  const { value: head } = await iterator.next().catch((error: unknown) => {
    throw isCodedError(error) ? error : clientFailure(error, ctx.signal);
  });
  if (head?.type !== 'head') {
    await iterator.return?.();
    throw statelessError('provider_request_failed', { message: 'provider request failed' });
  }
  return { status: head.status, headers: head.headers, body: bodyOf(iterator) };
}

/**
 * The response to the client, byte for byte as it arrives.
 *
 * @param ended receives a copy of a complete answer; it never delays the stream
 */
export function passOn({ status, headers, body }: RawAnswer, ended?: (answer: PassedAnswer) => void): RouteResponse {
  const streams = /^text\/event-stream\b/i.test(headers['content-type'] ?? '');
  const stream = ended ? copied(body, headers, (text) => ended({ status, streams, text })) : body;
  return {
    status,
    headers: withProviderId(headers),
    stream,
    ...(streams ? { sse: true, keepAlive: '' } : {}),
  };
}

/** The platform sets `X-Request-Id` itself; the support of a provider asks for the provider's id. */
function withProviderId(headers: RawAnswer['headers']): RawAnswer['headers'] {
  const id = headers['request-id'] ?? headers['x-request-id'];
  return id === undefined ? headers : { ...headers, 'X-Mortise-Provider-Request-Id': id };
}

async function* bodyOf(iterator: AsyncIterator<RawResponseEvent>): AsyncGenerator<Uint8Array> {
  let isOpen = true;
  try {
    for (;;) {
      const step = await iterator.next();
      if (step.done) {
        isOpen = false;
        return;
      }
      if (step.value.type === 'body') yield step.value.bytes;
    }
  } finally {
    if (isOpen) await iterator.return?.();
  }
}

/** Maximum size of a copy. A larger answer is not copied. */
const maxCopyBytes = 16 * 1024 * 1024;

async function* copied(
  body: AsyncIterable<Uint8Array>,
  headers: RawAnswer['headers'],
  ended: (text: string) => void,
): AsyncGenerator<Uint8Array> {
  const copy: Uint8Array[] = [];
  let size = 0;
  for await (const bytes of body) {
    yield bytes;
    size += bytes.length;
    if (size <= maxCopyBytes) copy.push(bytes);
    else copy.length = 0;
  }
  if (size > maxCopyBytes) return;
  // A copy that cannot be decoded is ignored: the client has its answer.
  void decodeBody(Buffer.concat(copy), headers['content-encoding'])
    .then((whole) => ended(whole.toString('utf8')))
    .catch(() => undefined);
}

/** The JSON objects of an answer: the data of its events, or its body. */
export function objectsOf({ streams, text }: PassedAnswer): readonly JsonObject[] {
  const texts = streams
    ? text.split(/\r\n|\r|\n/).flatMap((line) => (line.startsWith('data:') ? [line.slice(5)] : []))
    : [text];
  return texts.flatMap((one) => {
    try {
      const value: unknown = JSON.parse(one);
      return isJsonObject(value) ? [value] : [];
    } catch {
      return [];
    }
  });
}

/** The headers that may be forwarded. @param names exact names, and prefixes that end in `*` */
export function forwardable(
  headers: Readonly<Record<string, string | undefined>>,
  names: readonly string[],
): Readonly<Record<string, string>> {
  const exact = new Set(names.filter((name) => !name.endsWith('*')));
  const prefixes = names.filter((name) => name.endsWith('*')).map((name) => name.slice(0, -1));
  const forwarded: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined) continue;
    if (exact.has(name) || prefixes.some((prefix) => name.startsWith(prefix))) forwarded[name] = value;
  }
  return forwarded;
}
