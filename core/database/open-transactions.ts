import { AsyncResource } from 'node:async_hooks';
import type { Logger } from '../sdk/context.js';
import type { MortiseError } from '../sdk/errors.js';
import { databaseError } from './errors.js';
import { HeldTransaction, type OpeningCall } from './held-transaction.js';

/** How long an open transaction may be idle. */
const defaultIdleLimitMs = 30_000;

/** How long it may be idle while another caller explicitly asks for the write lock. */
const askedLimitMs = 1_000;

const maxSweepMs = 250;

export interface TransactionWatch {
  /** How long an open transaction may be idle, milliseconds; 30,000 when absent. */
  readonly idleLimitMs?: number;
  /** The call that the running code belongs to. */
  readonly currentCall?: () => OpeningCall | undefined;
  /** Called for each transaction that its plugin did not end. */
  readonly onStuck?: (plugin: string, error: MortiseError) => void;
}

/** All open transactions of the process. Abandoned ones are rolled back, so that others can write. */
export class OpenTransactions {
  readonly #log: Logger;
  readonly #watch: TransactionWatch;
  readonly #idleLimitMs: number;
  readonly #open = new Set<HeldTransaction>();
  /** In the host's context: the plugin that opens the first transaction is not responsible for the others. */
  readonly #sweepAsHost = AsyncResource.bind(() => this.#sweep());
  #sweeping: NodeJS.Timeout | undefined;

  constructor(log: Logger, watch: TransactionWatch = {}) {
    this.#log = log;
    this.#watch = watch;
    this.#idleLimitMs = watch.idleLimitMs ?? defaultIdleLimitMs;
  }

  open(plugin: string): HeldTransaction {
    const held = new HeldTransaction(plugin, this.#idleLimitMs, this.#watch.currentCall?.());
    this.#open.add(held);
    this.#sweeping ??= setInterval(this.#sweepAsHost, Math.min(maxSweepMs, this.#idleLimitMs / 4)).unref();
    return held;
  }

  close(held: HeldTransaction): void {
    this.#open.delete(held);
  }

  /** Rolls back the plugin's open transactions, because it is being released. */
  end(plugin: string): void {
    for (const held of this.#open) {
      if (held.plugin === plugin)
        held.end(databaseError('transaction_ended', { plugin, why: 'the plugin was stopped' }));
    }
  }

  /** Lets the plugin's open transactions be idle for one more second. */
  hurry(plugin: string): void {
    for (const held of this.#open) if (held.plugin === plugin) held.shorten(askedLimitMs);
  }

  /** The plugin whose open transaction has been idle for longest, when that is a second or more. */
  holder(): string | undefined {
    const now = performance.now();
    let longest = askedLimitMs;
    let found: string | undefined;
    for (const held of this.#open) {
      const idle = held.began ? held.idleMs(now) : 0;
      if (idle < longest) continue;
      longest = idle;
      found = held.plugin;
    }
    return found;
  }

  #sweep(): void {
    if (this.#open.size === 0) {
      clearInterval(this.#sweeping);
      this.#sweeping = undefined;
      return;
    }
    const now = performance.now();
    for (const held of this.#open) {
      if (held.reason || !held.isStuck(now)) continue;
      const { plugin } = held;
      const idleMs = Math.round(held.idleMs(now));
      const why = `nothing happened in it for ${idleMs} ms, or its call was over`;
      const error = databaseError('transaction_ended', { plugin, why });
      held.end(error);
      this.#log.warn({ plugin, idle_ms: idleMs, code: error.code }, 'a transaction that was not ended was rolled back');
      this.#watch.onStuck?.(plugin, error);
    }
  }
}
