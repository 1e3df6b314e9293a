import { isCodedError } from 'mortise/sdk';
import { type CallLimits, headLimit, withinHeadLimit } from './adapter-call.js';
import { idleTimeout, providerError } from './provider-error.js';
import { networkCode } from './provider-failure.js';

/** An answer whose first bytes have arrived. */
export interface OpenAnswer {
  /** Whether the answer is an event stream: some APIs ignore the request's `stream`. */
  readonly streams: boolean;
  /** Undefined when the body is empty. */
  readonly first: Uint8Array | undefined;
  /** Undefined when there is no body. */
  readonly reader: BodyReader | undefined;
}

/**
 * Sends a request and reads up to the first byte of its answer.
 *
 * @param asksForStream whether the request asks for a stream
 * @throws provider_request_failed when the API is silent for too long, or what `send` throws
 */
export async function openAnswerBody(
  send: (signal: AbortSignal) => Promise<Response>,
  asksForStream: boolean,
  limits: CallLimits,
  signal: AbortSignal,
): Promise<OpenAnswer> {
  const response = await withinHeadLimit(headLimit(limits, asksForStream), signal, send);
  const type = response.headers.get('content-type') ?? '';
  if (response.body === null)
    return { streams: isEventStream(type, undefined, asksForStream), first: undefined, reader: undefined };
  const reader = new BodyReader(response.body, limits.idleMs);
  try {
    const first = await reader.read();
    return { streams: isEventStream(type, first, asksForStream), first, reader };
  } catch (error) {
    await reader.close();
    throw error;
  }
}

/** Prefixes of the lines of an event stream. */
const fields = ['data:', 'event:', 'id:', 'retry:', ':'];

/**
 * The first bytes decide, because APIs label JSON as `text/plain` and streams as JSON; else the label decides. An error
 * page of a gateway is not a stream.
 */
function isEventStream(type: string, first: Uint8Array | undefined, asksForStream: boolean): boolean {
  const begin = new TextDecoder().decode(first?.subarray(0, 64)).trimStart();
  if (begin.startsWith('{') || begin.startsWith('<')) return false;
  if (fields.some((field) => begin.startsWith(field))) return true;
  if (/^text\/event-stream\b/i.test(type)) return true;
  if (/^(?:application\/(?:[\w.-]+\+)?json|text\/html)\b/i.test(type)) return false;
  // The first bytes may be an incomplete field name.
  return asksForStream && fields.some((field) => field.startsWith(begin));
}

/**
 * The bytes of an answer as they arrive. Returning early closes the connection.
 * @throws provider_request_failed when the connection breaks, or is silent for too long
 */
export async function* readParts({ first, reader }: OpenAnswer): AsyncGenerator<Uint8Array> {
  if (reader === undefined) return;
  try {
    for (let part = first; part !== undefined; part = await reader.read().catch(broken)) yield part;
  } finally {
    await reader.close();
  }
}

/** Maximum bytes of an answer that is not streamed. */
const bodyLimit = 32 * 1024 * 1024;

/** The whole body as text. @throws provider_invalid_reply, provider_request_failed */
export async function readBody(answer: OpenAnswer): Promise<string> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of readParts(answer)) {
    length += part.length;
    if (length > bodyLimit) throw providerError('provider_invalid_reply', 'provider response is too large');
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

function broken(error: unknown): never {
  if (isCodedError(error)) throw error;
  throw providerError('provider_request_failed', undefined, { cause: networkCode(error) });
}

/** The wait for the end of a body whose content is complete: a connection is reused only if its body was read to the end. */
const endWaitMs = 100;

/** Reads the bytes of an answer as they arrive, with a limit on pauses. */
export class BodyReader {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #timer: NodeJS.Timeout;
  #reading = false;
  #timedOut = false;
  #ended = false;

  constructor(body: ReadableStream<Uint8Array>, idleMs: number) {
    this.#reader = body.getReader();
    this.#timer = setTimeout(() => this.#onPause(), idleMs);
  }

  /**
   * Undefined at the end.
   * @throws provider_request_failed after a pause, or the error of the connection
   */
  async read(): Promise<Uint8Array | undefined> {
    this.#reading = true;
    this.#timer.refresh();
    const { done, value } = await this.#reader.read();
    this.#reading = false;
    if (this.#timedOut) throw providerError('provider_request_failed', undefined, { cause: idleTimeout });
    this.#ended = done;
    return value;
  }

  /** Closes the connection, which cancels the work of the API, unless only the end of the body is left. */
  async close(): Promise<void> {
    clearTimeout(this.#timer);
    if (this.#ended) return;
    let timer: NodeJS.Timeout | undefined;
    const waited = new Promise<{ done: boolean }>((resolve) => {
      timer = setTimeout(() => resolve({ done: false }), endWaitMs);
    });
    const { done } = await Promise.race([this.#reader.read(), waited]).catch(() => ({ done: true }));
    clearTimeout(timer);
    if (!done) await this.#reader.cancel().catch(() => undefined);
  }

  #onPause(): void {
    // The time that the reader takes between two reads is not a pause of the API.
    if (!this.#reading) return;
    this.#timedOut = true;
    void this.#reader.cancel().catch(() => undefined);
  }
}
