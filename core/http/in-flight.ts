import type { MortiseError } from '../sdk/index.js';

/** Something that a shutdown waits for. */
export interface Ongoing {
  /** Requests its end. */
  abort(reason: MortiseError): void;
  /** Ends it at once. */
  destroy(): void;
}

/** The open requests and sockets. */
export class InFlight {
  readonly #ongoing = new Set<Ongoing>();
  #waiting: (() => void)[] = [];

  get size(): number {
    return this.#ongoing.size;
  }

  add(ongoing: Ongoing): void {
    this.#ongoing.add(ongoing);
  }

  remove(ongoing: Ongoing): void {
    this.#ongoing.delete(ongoing);
    if (this.#ongoing.size > 0) return;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  /** True once nothing is open, false when `ms` milliseconds have passed first. */
  whenEmpty(ms: number): Promise<boolean> {
    if (this.#ongoing.size === 0) return Promise.resolve(true);
    return new Promise((resolve) => {
      const empty = () => {
        clearTimeout(timer);
        resolve(true);
      };
      const timer = setTimeout(
        () => {
          this.#waiting = this.#waiting.filter((waiting) => waiting !== empty);
          resolve(false);
        },
        Math.max(0, ms),
      );
      this.#waiting.push(empty);
    });
  }

  abortAll(reason: MortiseError): void {
    for (const ongoing of [...this.#ongoing]) ongoing.abort(reason);
  }

  destroyAll(): void {
    for (const ongoing of [...this.#ongoing]) ongoing.destroy();
  }
}
