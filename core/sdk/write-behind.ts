import { createDrain } from './drain.js';

export interface WriteBehindOptions<Row> {
  /** Stores rows: of each key the newest. */
  write(rows: readonly Row[]): Promise<void>;
  /** The store has failed again and again and is given up; whatever is set from now on is not kept. */
  gaveUp(error: unknown): void;
  /** Milliseconds between two batches; 250 when absent. */
  readonly everyMs?: number;
  /** Rows of one batch; 1,000 when absent. */
  readonly batch?: number;
  /** Failures in a row after which the store is given up; 3 when absent. */
  readonly tries?: number;
}

/**
 * Stores rows some time after they were set, so that whoever sets them waits for nothing. Of several rows with one key
 * only the newest is stored: what waits is bounded by the number of keys.
 */
export class WriteBehind<Row> {
  readonly #options: WriteBehindOptions<Row>;
  #waiting = new Map<string, Row>();
  #timer: NodeJS.Timeout | undefined;
  readonly #writing = createDrain(() => this.#writeBatch());
  #isWriting = false;
  #failures = 0;
  #closed = false;

  constructor(options: WriteBehindOptions<Row>) {
    this.#options = options;
  }

  /** False once the store was given up. */
  get open(): boolean {
    return !this.#closed;
  }

  set(key: string, row: Row): void {
    if (this.#closed) return;
    this.#waiting.set(key, row);
    this.#arm();
  }

  /** Resolves when all that was set before is stored, or the store was given up. */
  async flush(): Promise<void> {
    await this.#writing.idle();
    while (this.#waiting.size > 0 && !this.#closed) {
      this.#writing.request();
      await this.#writing.idle();
    }
  }

  /** Stores what waits; later rows are not kept. */
  async close(): Promise<void> {
    await this.flush();
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  #arm(): void {
    if (this.#timer !== undefined || this.#isWriting) return;
    this.#timer = setTimeout(this.#writing.request, this.#options.everyMs ?? 250);
    this.#timer.unref();
  }

  async #writeBatch(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#isWriting = true;
    await this.#write();
    this.#isWriting = false;
    if (this.#waiting.size > 0 && !this.#closed) this.#arm();
  }

  async #write(): Promise<void> {
    const batch = [...this.#waiting].slice(0, this.#options.batch ?? 1_000);
    if (batch.length === 0) return;
    for (const [key] of batch) this.#waiting.delete(key);
    try {
      await this.#options.write(batch.map(([, row]) => row));
      this.#failures = 0;
    } catch (error) {
      this.#failures += 1;
      if (this.#failures >= (this.#options.tries ?? 3)) this.#giveUp(error);
      // What has been set meanwhile is newer.
      else this.#waiting = new Map([...batch, ...this.#waiting]);
    }
  }

  #giveUp(error: unknown): void {
    this.#closed = true;
    this.#waiting.clear();
    this.#options.gaveUp(error);
  }
}
