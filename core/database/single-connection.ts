import type { PoolReading } from './engine.js';
import { databaseError } from './errors.js';

/** The state of a borrowed connection. */
export interface LentConnection {
  /** False once it was closed. */
  readonly open: boolean;
  /** knex marked it as unusable. */
  readonly __knex__disposed?: unknown;
  close(): unknown;
}

interface Waiter<C> {
  readonly deadline: number;
  readonly resolve: (connection: C) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * A pool of one connection that serves callers in the order of their requests. A pool that creates, checks and
 * times out connections costs more than a statement of SQLite; here a free connection costs nothing, and one timer
 * serves all waiting callers. Its methods have the names that knex expects of a pool.
 */
export class SingleConnection<C extends LentConnection> {
  readonly #make: () => C;
  readonly #limitMs: number;
  readonly #waiting: Waiter<C>[] = [];
  #connection: C | undefined;
  #discarded: C | undefined;
  #used = false;
  #closed = false;
  #closing: PromiseWithResolvers<void> | undefined;
  #givingUp: NodeJS.Timeout | undefined;

  /**
   * @param make opens the connection, on first use and after it was lost
   * @param limitMs how long a caller waits for it
   */
  constructor(make: () => C, limitMs: number) {
    this.#make = make;
    this.#limitMs = limitMs;
  }

  /**
   * The connection, synchronously when it is free; the caller releases it.
   *
   * @throws MortiseError `database_closed`, `database_unavailable` after the limit; and what opening throws
   */
  take(): C | Promise<C> {
    if (this.#closed) throw databaseError('database_closed');
    if (!this.#used) return this.#lend();
    return new Promise((resolve, reject) => {
      this.#waiting.push({ deadline: performance.now() + this.#limitMs, resolve, reject });
      if (this.#givingUp === undefined) this.#giveUpIn(this.#limitMs);
      else if (this.#waiting.length === 1) this.#givingUp.ref();
    });
  }

  acquire(): { readonly promise: Promise<C> } {
    return { promise: (async () => this.take())() };
  }

  /** Passes it to the caller that has waited longest; false when it is not the borrowed one. */
  release(connection: C): boolean {
    const isDiscarded = connection === this.#discarded;
    if (!this.#used || (connection !== this.#connection && !isDiscarded)) return false;
    this.#used = false;
    if (isDiscarded) {
      this.#discarded = undefined;
      connection.close();
    }
    if (this.#closing !== undefined) {
      this.#end(this.#closing);
      return true;
    }
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      try {
        next.resolve(this.#lend());
        return true;
      } catch (error) {
        next.reject(error);
      }
    }
    return true;
  }

  /** Closes the connection once it is released; the next caller opens a new one. */
  discard(): void {
    const connection = this.#connection;
    if (connection === undefined) return;
    this.#connection = undefined;
    if (!this.#used) connection.close();
    else this.#discarded = connection;
  }

  /** Refuses waiting and new callers, and closes once the connection is released. */
  destroy(): Promise<void> {
    if (this.#closing !== undefined) return this.#closing.promise;
    this.#closed = true;
    this.#closing = Promise.withResolvers();
    clearTimeout(this.#givingUp);
    for (const { reject } of this.#waiting.splice(0)) reject(databaseError('database_closed'));
    if (!this.#used) this.#end(this.#closing);
    return this.#closing.promise;
  }

  reading(): PoolReading {
    return { used: this.numUsed(), free: this.numFree(), pending: this.numPendingAcquires() };
  }

  numUsed(): number {
    return this.#used ? 1 : 0;
  }

  numFree(): number {
    return this.#used || this.#connection === undefined ? 0 : 1;
  }

  numPendingAcquires(): number {
    return this.#waiting.length;
  }

  #lend(): C {
    let connection = this.#connection;
    if (connection === undefined || !connection.open || connection.__knex__disposed !== undefined) {
      this.#connection = undefined;
      connection?.close();
      connection = this.#make();
      this.#connection = connection;
    }
    this.#used = true;
    return connection;
  }

  #next(): Waiter<C> | undefined {
    const next = this.#waiting.shift();
    // No caller waits, so the timer must not keep the process alive.
    if (this.#waiting.length === 0) this.#givingUp?.unref();
    return next;
  }

  #giveUpIn(ms: number): void {
    this.#givingUp = setTimeout(() => this.#giveUp(), ms);
  }

  #giveUp(): void {
    this.#givingUp = undefined;
    const now = performance.now();
    for (let first = this.#waiting[0]; first !== undefined; first = this.#waiting[0]) {
      const leftMs = first.deadline - now;
      if (leftMs > 0) {
        this.#giveUpIn(Math.ceil(leftMs));
        return;
      }
      this.#waiting.shift();
      const cause = new Error(`The connection was not free within ${this.#limitMs} ms.`);
      first.reject(databaseError('database_unavailable', {}, cause));
    }
  }

  #end(closing: PromiseWithResolvers<void>): void {
    try {
      this.#connection?.close();
      closing.resolve();
    } catch (error) {
      closing.reject(error);
    }
    this.#connection = undefined;
  }
}
