import type { TurnEvent, TurnPortEvent } from 'mortise/contracts/agent';
import type { ReplyPort } from 'mortise/contracts/conversation';

/** Events that may wait for their reader before the turn waits too. */
const highWater = 64;

/** Carries the events of a turn from its worker to the one who reads them, and makes a turn wait for a slow reader. */
export class TurnPipe {
  readonly #events: TurnEvent[] = [];
  readonly #onOpened: (turnId: string) => void;
  #wakeReader: (() => void) | undefined;
  #wakeWriters: (() => void)[] = [];
  #closed = false;
  #left = false;

  constructor(onOpened: (turnId: string) => void) {
    this.#onOpened = onOpened;
  }

  readonly port: ReplyPort = { send: (event) => this.#send(event as TurnPortEvent) };

  /** No event will follow. */
  close(): void {
    this.#closed = true;
    this.#wakeReader?.();
  }

  /** The reader is gone: what is sent from now on is dropped. */
  leave(): void {
    this.#left = true;
    this.#release();
  }

  /** The next event; undefined when there is none any more. */
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
    if (event.type === 'opened') return this.#onOpened(event.turnId);
    if (this.#left) return undefined;
    this.#events.push(shown(event));
    this.#wakeReader?.();
    if (this.#events.length < highWater) return undefined;
    return new Promise((resolve) => this.#wakeWriters.push(resolve));
  }

  #release(): void {
    for (const wake of this.#wakeWriters.splice(0)) wake();
  }
}

/** The event as it is stored: here nobody needs to tell two calls of one tool apart. */
function shown(event: Exclude<TurnPortEvent, { type: 'opened' }>): TurnEvent {
  if (!('call' in event)) return event;
  const { call: _, ...stored } = event;
  return stored;
}
