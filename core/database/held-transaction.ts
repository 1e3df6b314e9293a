import type { MortiseError } from '../sdk/errors.js';

/** The call in which a transaction was opened. */
export interface OpeningCall {
  /** Monotonic milliseconds from which it is a fault that the call goes on; infinite while it may. */
  readonly overdueAt?: number;
}

/** An open transaction of a plugin: what happens in it, and how it is ended from outside. */
export class HeldTransaction {
  readonly plugin: string;
  readonly #call: OpeningCall | undefined;
  #limitMs: number;
  #running = 0;
  /** Monotonic time of the last thing that happened in it. */
  #stamp = performance.now();
  #began = false;
  #reason: MortiseError | undefined;
  /** Ends the waiting for its work. */
  #cut: ((reason: MortiseError) => void) | undefined;

  constructor(plugin: string, limitMs: number, call: OpeningCall | undefined) {
    this.plugin = plugin;
    this.#limitMs = limitMs;
    this.#call = call;
  }

  /** It has its connection; until then no other caller waits for it. */
  get began(): boolean {
    return this.#began;
  }

  /** Why it was ended from outside. */
  get reason(): MortiseError | undefined {
    return this.#reason;
  }

  /** Milliseconds since something happened in it; 0 while a statement runs. */
  idleMs(now: number): number {
    return this.#running > 0 ? 0 : now - this.#stamp;
  }

  /** Nothing has happened in it for its limit, or the call that opened it should have stopped long ago. */
  isStuck(now: number): boolean {
    return this.#began && (this.idleMs(now) >= this.#limitMs || now >= (this.#call?.overdueAt ?? Infinity));
  }

  /** Somebody waits for it to end: it is given less time from now on. */
  shorten(limitMs: number): void {
    this.#limitMs = Math.min(this.#limitMs, limitMs);
  }

  /** Runs the work of the transaction, but waits for it no longer than until the transaction is ended. */
  work<T>(run: () => Promise<T>): Promise<T> {
    if (this.#reason) throw this.#reason;
    this.#began = true;
    this.#stamp = performance.now();
    return new Promise((resolve, reject) => {
      this.#cut = reject;
      run().then(resolve, reject);
    });
  }

  /** Runs a statement in it. @throws MortiseError `transaction_ended` */
  during<T>(run: () => T | Promise<T>): T | Promise<T> {
    if (this.#reason) throw this.#reason;
    return this.noted(run);
  }

  /** Runs a statement that ends the transaction, or a part of it: also after it was ended from outside. */
  noted<T>(run: () => T | Promise<T>): T | Promise<T> {
    this.#running += 1;
    let result: T | Promise<T>;
    try {
      result = run();
    } catch (error) {
      this.#ran();
      throw error;
    }
    if (result instanceof Promise) return this.#afterwards(result);
    this.#ran();
    return result;
  }

  async #afterwards<T>(result: Promise<T>): Promise<T> {
    try {
      return await result;
    } finally {
      this.#ran();
    }
  }

  #ran(): void {
    this.#running -= 1;
    this.#stamp = performance.now();
    if (this.#reason && this.#running === 0) this.#cut?.(this.#reason);
  }

  /**
   * Takes no further statement; once none runs it is rolled back. A statement must not come after the end of its
   * transaction: on SQLite it would run in the next one.
   */
  end(reason: MortiseError): void {
    if (this.#reason) return;
    this.#reason = reason;
    if (this.#running === 0) this.#cut?.(reason);
  }
}
