import type { MortiseError } from '../sdk/errors.js';

/** The call in which a transaction was opened. */
export interface OpeningCall {
  /** Monotonic milliseconds after which it is a fault if the call still runs; infinite while it may run. */
  readonly overdueAt?: number;
}

/** An open transaction of a plugin: its activity, and how the host ends it. */
export class HeldTransaction {
  readonly plugin: string;
  readonly #call: OpeningCall | undefined;
  #limitMs: number;
  #running = 0;
  /** Monotonic time of its last activity. */
  #stamp = performance.now();
  #began = false;
  #reason: MortiseError | undefined;
  /** Stops waiting for its work. */
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

  /** Why the host ended it. */
  get reason(): MortiseError | undefined {
    return this.#reason;
  }

  /** Milliseconds since its last activity; 0 while a statement runs. */
  idleMs(now: number): number {
    return this.#running > 0 ? 0 : now - this.#stamp;
  }

  /** It has been idle for its limit, or the call that opened it should have stopped long ago. */
  isStuck(now: number): boolean {
    return this.#began && (this.idleMs(now) >= this.#limitMs || now >= (this.#call?.overdueAt ?? Infinity));
  }

  /** Shortens its limits, because another caller waits for it to end. */
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

  /** Runs a statement that ends the transaction, or a part of it: also after the host ended it. */
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
   * Accepts no further statements, and rolls back once none is running. A statement must not come after the end of its
   * transaction: on SQLite it would run in the next one.
   */
  end(reason: MortiseError): void {
    if (this.#reason) return;
    this.#reason = reason;
    if (this.#running === 0) this.#cut?.(reason);
  }
}
