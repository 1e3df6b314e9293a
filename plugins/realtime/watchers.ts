import type { SessionRef } from 'mortise/contracts/sessions';

/** A socket as a watcher: it knows which turns were its own. */
export interface Watcher {
  /** Whether the turn was asked for on this socket: it has the reply already. */
  asked(turnId: string): boolean;
  push(id: string, frame: object): void;
}

interface Watch {
  readonly id: string;
  readonly session: SessionRef;
}

/** Which sockets of this process watch which sessions. */
export class Watchers {
  readonly #bySession = new Map<string, Map<Watcher, Watch>>();

  /** A second watch of the same session by the same socket takes the place of the first. */
  add(sessionKey: string, watcher: Watcher, watch: Watch): void {
    const watches = this.#bySession.get(sessionKey) ?? new Map<Watcher, Watch>();
    watches.set(watcher, watch);
    this.#bySession.set(sessionKey, watches);
  }

  remove(sessionKey: string, watcher: Watcher): void {
    const watches = this.#bySession.get(sessionKey);
    watches?.delete(watcher);
    if (watches?.size === 0) this.#bySession.delete(sessionKey);
  }

  of(sessionKey: string): readonly (readonly [Watcher, Watch])[] {
    return [...(this.#bySession.get(sessionKey) ?? [])];
  }
}
