import type { CallContext, Disposable, Socket } from 'mortise/sdk';
import { Connection } from './connection.js';
import type { RealtimeParts } from './method.js';

/** What requests in progress leave of a shutdown for their last frames: milliseconds, and at most this share of it. */
const lastWordsMs = 1_000;
const lastWordsShare = 0.25;

/** All open sockets of the process. */
export class Connections implements Disposable {
  readonly #parts: RealtimeParts;
  readonly #open = new Set<Connection>();
  #lastPing: number;
  #ending: NodeJS.Timeout | undefined;

  constructor(parts: RealtimeParts) {
    this.#parts = parts;
    this.#lastPing = parts.now();
  }

  open(socket: Socket, ctx: CallContext): Connection {
    const connection = new Connection(socket, ctx, this.#parts, () => this.#open.delete(connection));
    this.#open.add(connection);
    return connection;
  }

  /** Looks after all sockets: who reads, and who is there. */
  look(): void {
    const pingMs = this.#parts.config.pingSeconds * 1_000;
    const due = pingMs > 0 && this.#parts.now() - this.#lastPing >= pingMs;
    if (due) this.#lastPing = this.#parts.now();
    for (const connection of this.#open) {
      connection.checkReader();
      if (due) connection.ping();
    }
  }

  /** Idle sockets are closed now, the others when what they wait for has ended, at the latest shortly before the end. */
  shutDown(msLeft: number): void {
    for (const connection of this.#open) connection.drain();
    this.#ending = setTimeout(
      () => {
        for (const connection of this.#open) connection.endNow();
      },
      Math.max(0, msLeft - Math.min(lastWordsMs, msLeft * lastWordsShare)),
    );
  }

  dispose(): void {
    clearTimeout(this.#ending);
  }
}
