import type { CallContext } from '../sdk/context.js';
import { runMarked } from './attribution.js';
import { CallStats } from './call-stats.js';
import { isThenable } from './is-thenable.js';
import type { Lease } from './lease.js';
import type { LeaseBook } from './lease-book.js';

/** Timers, events and changes that reach a plugin: each a leased call, and a failure of one is the plugin's own. */
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

  /** @returns a promise that is never rejected, or nothing when the callback is done. */
  run(kind: string, run: (ctx: CallContext) => unknown): Promise<void> | undefined {
    if (this.#stopped.aborted) return undefined;
    const lease = this.#leases.open('callback', kind, this.#stats, 0, undefined);
    try {
      const result = runMarked(lease, run, lease);
      if (isThenable(result)) return this.#settle(lease, result);
      lease.end(false);
    } catch (error) {
      lease.end(true);
      this.#onFailure(error);
    }
    return undefined;
  }

  async #settle(lease: Lease, result: PromiseLike<unknown>): Promise<void> {
    try {
      await lease.settle(result);
    } catch (error) {
      if (!lease.aborted) this.#onFailure(error);
    }
  }
}
