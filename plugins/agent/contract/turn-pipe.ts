import type { ReplyPort } from 'mortise/contracts/conversation';
import type { TurnEvent, TurnPortEvent } from './turn.js';

/** Unread events at which the turn waits for its reader. */
const highWater = 64;

/** Carries the events of a turn from its worker to the reader, and makes the turn wait for a slow reader. */
export class TurnPipe {
  readonly #events: TurnEvent[] = [];
  readonly #onOpened: (turnId: string, chatId: string) => void;
  #wakeReader: (() => void) | undefined;
  #wakeWriters: (() => void)[] = [];
  #closed = false;
  #left = false;

  constructor(onOpened: (turnId: string, chatId: string) => void) {
    this.#onOpened = onOpened;
  }

  readonly port: ReplyPort = { send: (event) => this.#send(event as TurnPortEvent) };

  /** No more events follow. */
  close(): void {
    this.#closed = true;
    this.#wakeReader?.();
  }

  /** The reader has disconnected: later events are dropped. */
  leave(): void {
    this.#left = true;
    this.#release();
  }

  /** The next event; undefined after the last one. */
  async next(): Promise<TurnEvent | undefined> {
    while (this.#events.length === 0 && !this.#closed) {
      await new Promise<void>((resolve) => {
        this.#wakeReader = resolve;
      });
    }
    const event = this.#events.shift();
    if (this.#events.length < highWater) this.#release();
    return event;
  }

  #send(event: TurnPortEvent): void | Promise<void> {
    if (event.type === 'opened') return this.#onOpened(event.turnId, event.chatId);
    if (this.#left) return undefined;
    this.#events.push(storedForm(event));
    this.#wakeReader?.();
    if (this.#events.length < highWater) return undefined;
    return new Promise((resolve) => this.#wakeWriters.push(resolve));
  }

  #release(): void {
    for (const wake of this.#wakeWriters.splice(0)) wake();
  }
}

/** The event as it is stored, without the id of its call. */
function storedForm(event: Exclude<TurnPortEvent, { type: 'opened' }>): TurnEvent {
  if (!('call' in event)) return event;
  const { call: _, ...stored } = event;
  return stored;
}
