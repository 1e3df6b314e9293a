import type { CallContext } from '../sdk/context.js';
import type { CallEnd } from '../sdk/points.js';
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
    let lease: Lease | undefined;
    const failed = (error: unknown): CallEnd => {
      if (!lease?.aborted) this.#onFailure(error);
      return { ok: false, error };
    };
    try {
      // Fails for an event that is emitted in its own listener, without end.
      lease = this.#leases.open('callback', kind, this.#stats, 0, undefined);
      const result = lease.run((_: undefined, ctx) => run(ctx), undefined);
      return isThenable(result) ? (result.then(() => done, failed) as Promise<CallEnd>) : done;
    } catch (error) {
      return failed(error);
    }
  }
}
