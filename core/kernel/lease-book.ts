import { MortiseError } from '../sdk/errors.js';
import type { CallOptions } from '../sdk/points.js';
import { currentMark, runUnmarked } from './attribution.js';
import { type CallStats, callerGone, Lease, type LeaseDeps, type LeaseOwner } from './lease.js';
import type { Limit } from './time-limit.js';

/** Calls within calls; more are an endless recursion. */
const maxCallDepth = 64;
/** Calls that one call may have open at a time, however they are nested; more are a recursion that branches. */
const maxOpenCalls = 4_096;

interface LeaseBookDeps extends LeaseDeps {
  /**
   * The plugin went on after an abort, past the time that the call may take.
   *
   * @returns false when another plugin keeps it from stopping: it is called again.
   */
  onIgnoredAbort(lease: Lease): boolean;
  readonly sweep: LeaseSweep;
}

/** The open leases of one plugin run. */
export class LeaseBook implements LeaseOwner {
  readonly plugin: string;
  readonly deps: LeaseBookDeps;
  readonly #open = new Set<Lease>();
  readonly #reported = new WeakSet<Lease>();
  #waiters: (() => void)[] = [];

  constructor(plugin: string, deps: LeaseBookDeps) {
    this.plugin = plugin;
    this.deps = deps;
  }

  get inFlight(): number {
    return this.#open.size;
  }

  /**
   * @param ownLimitMs milliseconds that the contribution itself is given, 0 for no limit
   * @param timeoutMs after which the call is aborted: the caller's limit, where it has one
   * @throws MortiseError `call_aborted` (499), `call_too_deep`, `too_many_calls` (508)
   */
  open(
    point: string,
    key: string,
    stats: CallStats,
    ownLimitMs: number,
    options: CallOptions | undefined,
    timeoutMs = options?.timeoutMs ?? ownLimitMs,
  ): Lease {
    if (options?.signal?.aborted) throw new MortiseError(callerGone, 'The caller is gone.', { status: 499 });
    const around = currentMark();
    const depth = Math.max(around?.depth ?? 0, options?.depth ?? 0) + 1;
    if (depth > maxCallDepth) throw endless('call_too_deep', point, key, this.plugin);
    const tree = (depth > 1 && around?.tree) || { open: 0 };
    if (tree.open >= maxOpenCalls) throw endless('too_many_calls', point, key, this.plugin);
    const lease = new Lease(this, point, key, stats, timeoutMs, ownLimitMs, options, depth, tree);
    stats.inFlight += 1;
    this.#open.add(lease);
    if (this.#open.size === 1) this.deps.sweep.watch(this);
    return lease;
  }

  close(lease: Lease): void {
    this.#open.delete(lease);
    if (this.#open.size > 0) return;
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const wake of waiters) wake();
  }

  /** Resolves true when no lease is open, false when the limit has passed. */
  whenIdle(limit: Limit): Promise<boolean> {
    if (this.#open.size === 0) return Promise.resolve(true);
    return new Promise((resolve) => {
      const cancel = limit(() => {
        this.#waiters = this.#waiters.filter((wake) => wake !== done);
        resolve(false);
      });
      const done = (): void => {
        cancel();
        resolve(true);
      };
      this.#waiters.push(done);
    });
  }

  abortAll(reason: MortiseError): void {
    for (const lease of this.#open) lease.abort(reason);
  }

  /** One pass over all open leases: aborts those past their limit, reports those that ignore an abort. */
  sweep(now: number): void {
    for (const lease of this.#open) {
      if (lease.aborted) {
        if (now >= lease.overdueAt) this.#report(lease);
      } else if (lease.deadline > 0 && now >= lease.deadline) lease.abort(timedOut(lease));
    }
  }

  /** Reports every lease that is open although it was aborted, without further waiting. */
  reportIgnored(): void {
    for (const lease of this.#open) if (lease.aborted) this.#report(lease);
  }

  #report(lease: Lease): void {
    if (this.#reported.has(lease)) return;
    if (this.deps.onIgnoredAbort(lease)) this.#reported.add(lease);
  }
}

/** How often open leases are checked against their limits, milliseconds. */
const sweepEveryMs = 20;

/** Checks the open leases of all plugins against their limits; its timer runs only while there are any. */
export class LeaseSweep {
  readonly #monotonic: () => number;
  readonly #books = new Set<LeaseBook>();
  #timer: NodeJS.Timeout | undefined;

  constructor(monotonic: () => number) {
    this.#monotonic = monotonic;
  }

  get running(): boolean {
    return this.#timer !== undefined;
  }

  /** Called with a book that has opened its first lease. */
  watch(book: LeaseBook): void {
    this.#books.add(book);
    this.#timer ??= runUnmarked(() => setInterval(() => this.#sweep(), sweepEveryMs).unref());
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Stops only here: calls come in rows, and a timer for each of them would cost more than the sweep. */
  #sweep(): void {
    const now = this.#monotonic();
    for (const book of this.#books) {
      if (book.inFlight === 0) this.#books.delete(book);
      else book.sweep(now);
    }
    if (this.#books.size === 0) this.stop();
  }
}

function timedOut({ point, key, plugin, deadline, startedAt }: Lease): MortiseError {
  const ms = Math.round(deadline - startedAt);
  return new MortiseError('call_timeout', `${point} "${key}" did not answer within ${ms} ms.`, {
    status: 504,
    retryable: true,
    details: { point, key, plugin, timeout_ms: ms },
  });
}

function endless(code: 'call_too_deep' | 'too_many_calls', point: string, key: string, plugin: string): MortiseError {
  const isDeep = code === 'call_too_deep';
  const limit = isDeep ? maxCallDepth : maxOpenCalls;
  const what = isDeep ? `within ${limit} other calls` : `while one call has ${limit} others open`;
  return new MortiseError(code, `${point} "${key}" is called ${what}.`, {
    status: 508,
    details: { point, key, plugin, limit },
    hint: 'Plugins call each other, or themselves, without end: look for the circle in the log by its correlation id.',
  });
}
