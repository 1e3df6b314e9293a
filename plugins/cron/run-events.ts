import type { Database, Disposable, Logger } from 'mortise/sdk';
import type { CronEvent } from './contract/index.js';

const channel = 'events';
/** Bytes of one notification; the database allows 7,000. */
const maxBytes = 6_000;
/** Events within this time are sent together. */
const gatherMs = 20;

type Listener = (event: CronEvent) => void;

/**
 * Publishes run events to watchers in this and all other processes. Delivery is best effort; the rows are authoritative. Texts of a
 * workflow's nodes are not sent.
 */
export class RunEvents implements Disposable {
  readonly #database: Database;
  readonly #log: Logger;
  readonly #emit: Listener;
  readonly #listeners = new Set<Listener>();
  #waiting: string[] = [];
  #timer: NodeJS.Timeout | undefined;
  #listening: Disposable | undefined;

  /** @param emit receives the events of this process at once */
  constructor(database: Database, log: Logger, emit: Listener) {
    this.#database = database;
    this.#log = log;
    this.#emit = emit;
  }

  async listen(): Promise<void> {
    this.#listening = await this.#database.listen(channel, (payload) => {
      for (const event of JSON.parse(payload) as readonly CronEvent[]) {
        for (const listener of this.#listeners) listener(event);
      }
    });
  }

  publish(event: CronEvent): void {
    this.#emit(event);
    const text = JSON.stringify(slim(event));
    if (Buffer.byteLength(text) > maxBytes) return;
    this.#waiting.push(text);
    this.#timer ??= setTimeout(() => void this.#send(), gatherMs);
  }

  /** @returns ends the subscription when disposed */
  subscribe(listener: Listener): Disposable {
    this.#listeners.add(listener);
    return { dispose: () => void this.#listeners.delete(listener) };
  }

  async dispose(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#listening?.dispose();
  }

  async #send(): Promise<void> {
    const waiting = this.#waiting;
    this.#waiting = [];
    this.#timer = undefined;
    let batch: string[] = [];
    let size = 2;
    try {
      for (const text of waiting) {
        const bytes = Buffer.byteLength(text) + 1;
        if (size + bytes > maxBytes) {
          await this.#database.notify(channel, `[${batch.join()}]`);
          [batch, size] = [[], 2];
        }
        batch.push(text);
        size += bytes;
      }
      if (batch.length > 0) await this.#database.notify(channel, `[${batch.join()}]`);
    } catch (error) {
      this.#log.warn({ err: error }, 'events of runs could not be sent');
    }
  }
}

function slim(event: CronEvent): CronEvent {
  if (event.type === 'run') {
    const { execution: _, ...run } = event.run;
    return { type: 'run', run };
  }
  const { input: _, output: __, ...node } = event.node;
  return { ...event, node };
}
