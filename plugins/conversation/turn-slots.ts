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

  /** Resolves with the function that gives the place back, or undefined when the signal aborts first. */
  take(signal: AbortSignal): Promise<(() => void) | undefined> {
    if (signal.aborted) return Promise.resolve(undefined);
    if (this.#taken < this.#limit) {
      this.#taken += 1;
      return Promise.resolve(this.#giver());
    }
    return new Promise((resolve) => {
      const served = (): void => {
        signal.removeEventListener('abort', left);
        resolve(this.#giver());
      };
      const left = (): void => {
        this.#waiting.delete(served);
        resolve(undefined);
      };
      this.#waiting.add(served);
      signal.addEventListener('abort', left, { once: true });
    });
  }

  #giver(): () => void {
    let given = false;
    return () => {
      if (given) return;
      given = true;
      const [next] = this.#waiting;
      if (next === undefined) {
        this.#taken -= 1;
        return;
      }
      this.#waiting.delete(next);
      next();
    };
  }
}
