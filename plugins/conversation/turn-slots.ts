/** A limit over all sessions, served first come, first served. */
export class TurnSlots {
  readonly #limit: number;
  readonly #waiting = new Set<() => void>();
  #taken = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get taken(): number {
    return this.#taken;
  }

  /** False when every place is taken. */
  take(): boolean {
    if (this.#taken >= this.#limit) return false;
    this.#taken += 1;
    return true;
  }

  /** Calls `served` once a place has become free and is taken. @returns how to stop waiting */
  wait(served: () => void): () => void {
    this.#waiting.add(served);
    return () => this.#waiting.delete(served);
  }

  /** Gives a place back. */
  give(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#taken -= 1;
      return;
    }
    this.#waiting.delete(next);
    // Not from here: whoever gives its place back in the same breath would stand on the stack of all before it.
    queueMicrotask(next);
  }
}
