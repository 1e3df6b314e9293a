import { providerError } from '../errors.js';

/** How long the end of a body is waited for once its content is complete: a connection read to its end is used again. */
const endWaitMs = 100;

/** Reads the bytes of an answer as they arrive, and gives up when none come for too long. */
export class BodyReader {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #timer: NodeJS.Timeout;
  #reading = false;
  #silent = false;
  #ended = false;

  constructor(body: ReadableStream<Uint8Array>, idleMs: number) {
    this.#reader = body.getReader();
    this.#timer = setTimeout(() => this.#giveUp(), idleMs);
  }

  /**
   * Undefined at the end.
   * @throws provider_request_failed after a silence, or what the connection broke with
   */
  async read(): Promise<Uint8Array | undefined> {
    this.#reading = true;
    this.#timer.refresh();
    const { done, value } = await this.#reader.read();
    this.#reading = false;
    if (this.#silent) throw providerError('provider_request_failed', undefined, { cause: 'idle_timeout' });
    this.#ended = done;
    return value;
  }

  /** Closes the connection, and with it the work at the other end, unless nothing but the end of the answer is left. */
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

  #giveUp(): void {
    // The reader's own time does not count against the API.
    if (!this.#reading) return;
    this.#silent = true;
    void this.#reader.cancel().catch(() => undefined);
  }
}
