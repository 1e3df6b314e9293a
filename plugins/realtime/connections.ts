import type { CallContext, Disposable, Socket, UpgradeRoute } from 'mortise/sdk';
import { Connection } from './connection.js';
import type { RealtimeDeps } from './method.js';

/** Time that a shutdown reserves for the last frames: milliseconds, and at most this share of the time left. */
const lastFramesMs = 1_000;
const lastFramesShare = 0.25;

/** All open sockets of the process. */
export class Connections implements Disposable {
  readonly #deps: RealtimeDeps;
  readonly #open = new Set<Connection>();
  #lastPing: number;
  #ending: NodeJS.Timeout | undefined;

  constructor(deps: RealtimeDeps) {
    this.#deps = deps;
    this.#lastPing = deps.now();
  }

  open(socket: Socket, ctx: CallContext): Connection {
    const connection = new Connection(socket, ctx, this.#deps, () => this.#open.delete(connection));
    this.#open.add(connection);
    return connection;
  }

  /** Closes slow readers, and pings the peers when it is time. */
  check(): void {
    const pingMs = this.#deps.config.pingSeconds * 1_000;
    const due = pingMs > 0 && this.#deps.now() - this.#lastPing >= pingMs;
    if (due) this.#lastPing = this.#deps.now();
    for (const connection of this.#open) {
      connection.checkReader();
      if (due) connection.ping();
    }
  }

  /** Closes idle sockets now, the others when their requests have ended, at the latest shortly before the deadline. */
  shutDown(msLeft: number): void {
    for (const connection of this.#open) connection.drain();
    this.#ending = setTimeout(
      () => {
        for (const connection of this.#open) connection.endNow();
      },
      Math.max(0, msLeft - Math.min(lastFramesMs, msLeft * lastFramesShare)),
    );
  }

  dispose(): void {
    clearTimeout(this.#ending);
  }
}

/** The longest frame, bytes; a longer one closes the socket with 1009. */
const maxFrameBytes = 4 * 1024 * 1024;

/** `/ws`. Public: with keys configured, the first frame must authenticate. */
export function socketRoute(connections: Connections): UpgradeRoute {
  return { maxFrameBytes, open: (socket, ctx) => connections.open(socket, ctx) };
}
