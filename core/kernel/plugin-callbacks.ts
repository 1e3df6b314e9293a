import type { CallContext } from '../sdk/context.js';
import type { CallEnd } from '../sdk/points.js';
import { runMarked } from './attribution.js';
import { CallStats, type Lease } from './lease.js';
import type { LeaseBook } from './lease-book.js';
import { isThenable } from './time-limit.js';

const done: CallEnd = Object.freeze({ ok: true, value: undefined });

/** Timers, events and changes that reach a plugin: each is a leased call, and a failure is a fault of the plugin. */
export class PluginCallbacks {
  readonly #leases: LeaseBook;
  readonly #stopped: AbortSignal;
  readonly #onFailure: (error: unknown) => void;
  readonly #stats = new CallStats();

  constructor(leases: LeaseBook, stopped: AbortSignal, onFailure: (error: unknown) => void) {
    this.#leases = leases;
    this.#stopped = stopped;
    this.#onFailure = onFailure;
  }

  /** Never throws or rejects. A callback of a plugin that is stopping is not run, and counts as failed. */
  run(kind: string, run: (ctx: CallContext) => unknown): CallEnd | Promise<CallEnd> {
    if (this.#stopped.aborted) return { ok: false, error: this.#stopped.reason };
    let lease: Lease;
    try {
      lease = this.#leases.open('callback', kind, this.#stats, 0, undefined);
    } catch (error) {
      // An event that is emitted in its own listener, without end.
      this.#onFailure(error);
      return { ok: false, error };
    }
    try {
      const result = runMarked(lease, run, lease);
      if (isThenable(result)) return this.#settle(lease, result);
      lease.end(false);
      return done;
    } catch (error) {
      lease.end(true);
      this.#onFailure(error);
      return { ok: false, error };
    }
  }

  async #settle(lease: Lease, result: PromiseLike<unknown>): Promise<CallEnd> {
    try {
      await lease.settle(result);
      return done;
    } catch (error) {
      if (!lease.aborted) this.#onFailure(error);
      return { ok: false, error };
    }
  }
}
