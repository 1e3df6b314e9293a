import type { OpenAI } from 'openai';
import { providerError } from './errors.js';
import type { RequestBody } from './request-body.js';

/** An answer whose first bytes have arrived. */
export interface OpenAnswer {
  /** Whether the answer is an event stream: some APIs ignore the request's `stream`. */
  readonly streams: boolean;
  /** Undefined when the body is empty. */
  readonly first: Uint8Array | undefined;
  /** Undefined when there is no body. */
  readonly reader: BodyReader | undefined;
}

const isEvents = (type: string): boolean => /^text\/event-stream\b/i.test(type);
const isJson = (type: string): boolean => /^application\/(?:[\w.-]+\+)?json\b/i.test(type);

interface RequestLimits {
  readonly signal: AbortSignal;
  /** The longest pause of the body, milliseconds. */
  readonly idleMs: number;
}

/**
 * One request, up to the first byte of its answer.
 * @throws what the SDK or the connection throws; provider_request_failed when the body pauses too long
 */
export async function openAnswer(
  client: OpenAI,
  body: RequestBody,
  { signal, idleMs }: RequestLimits,
): Promise<OpenAnswer> {
  const headers = body.stream ? { Accept: 'text/event-stream' } : {};
  const response = await client.chat.completions.create(body, { signal, headers }).asResponse();
  const type = response.headers.get('content-type') ?? '';
  const streams = isEvents(type) || (body.stream === true && !isJson(type));
  if (response.body === null) return { streams, first: undefined, reader: undefined };
  const reader = new BodyReader(response.body, idleMs);
  try {
    return { streams, first: await reader.read(), reader };
  } catch (error) {
    await reader.close();
    throw error;
  }
}

/** How long to wait for the end of a body whose content is complete: a connection read to its end can be reused. */
const endWaitMs = 100;

/** Reads the bytes of an answer as they arrive, with a limit on pauses. */
class BodyReader {
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
    if (this.#timedOut) throw providerError('provider_request_failed', undefined, { cause: 'idle_timeout' });
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
    // The reader's own time between two reads is not a pause of the API.
    if (!this.#reading) return;
    this.#timedOut = true;
    void this.#reader.cancel().catch(() => undefined);
  }
}
