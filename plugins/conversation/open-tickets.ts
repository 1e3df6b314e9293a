/** Counts what is accepted and not settled, and tells when nothing is. */
export class OpenTickets {
  #open = 0;
  #waiters: (() => void)[] = [];

  begin(): void {
    this.#open += 1;
  }

  end(): void {
    this.#open -= 1;
    if (this.#open === 0) for (const wake of this.#waiters.splice(0)) wake();
  }

  /** True when nothing is open any more; false when that was still so after `ms`. */
  whenNone(ms: number): Promise<boolean> {
    if (this.#open === 0) return Promise.resolve(true);
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), ms);
      this.#waiters.push(() => {
        clearTimeout(timer);
        resolve(true);
      });
    });
  }
}
