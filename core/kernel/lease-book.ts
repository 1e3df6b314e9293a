import type { Logger, TraceContext } from '../sdk/context.js';
import { MortiseError } from '../sdk/errors.js';
import type { CallOptions } from '../sdk/points.js';
import type { SpanHandle } from '../telemetry/types.js';
import { type CallStats, callerGone, Lease } from './lease.js';
import type { PluginOutput } from './plugin-output.js';
import type { PluginRunPorts } from './plugin-run-ports.js';
import type { Limit } from './time-limit.js';

export interface LeaseBookPorts {
  monotonic(): number;
  logFor(lease: Lease): Logger;
  /** Undefined when nobody records it. */
  startSpan(lease: Lease, parent: TraceContext): SpanHandle | undefined;
  /**
   * The plugin went on after it was told to stop, past the time that the call may take.
   *
   * @returns false when another one keeps it from stopping: it is asked again.
   */
  onIgnoredAbort(lease: Lease): boolean;
}

/** The open leases of one plugin run. */
export class LeaseBook {
  readonly plugin: string;
  readonly #ports: LeaseBookPorts;
  readonly #open = new Set<Lease>();
  #waiters: (() => void)[] = [];
  readonly #reported = new WeakSet<Lease>();

  constructor(plugin: string, ports: LeaseBookPorts) {
    this.plugin = plugin;
    this.#ports = ports;
  }

  get inFlight(): number {
    return this.#open.size;
  }

  monotonic(): number {
    return this.#ports.monotonic();
  }

  logFor(lease: Lease): Logger {
    return this.#ports.logFor(lease);
  }

  startSpan(lease: Lease, parent: TraceContext): SpanHandle | undefined {
    return this.#ports.startSpan(lease, parent);
  }

  /**
   * @param ownLimitMs milliseconds that the contribution itself is given, 0 for no limit
   * @param timeoutMs after which the call is aborted: the caller's limit, where it has one
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
    const lease = new Lease(this, point, key, stats, timeoutMs, ownLimitMs, options, this.#ports.monotonic());
    stats.inFlight += 1;
    this.#open.add(lease);
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

  /** One pass over all open leases: ends those past their limit, reports those that ignore an abort. */
  sweep(now: number): void {
    for (const lease of this.#open) {
      if (lease.aborted) {
        if (now >= lease.overdueAt) this.#report(lease);
      } else if (lease.deadline > 0 && now >= lease.deadline) {
        const ms = Math.round(lease.deadline - lease.startedAt);
        lease.abort(
          new MortiseError('call_timeout', `${lease.point} "${lease.key}" did not answer within ${ms} ms.`, {
            status: 504,
            retryable: true,
            details: { point: lease.point, key: lease.key, plugin: lease.plugin, timeout_ms: ms },
          }),
        );
      }
    }
  }

  /** Reports every lease that is open although it was aborted, without waiting any longer. */
  reportIgnored(): void {
    for (const lease of this.#open) if (lease.aborted) this.#report(lease);
  }

  #report(lease: Lease): void {
    if (this.#reported.has(lease)) return;
    if (this.#ports.onIgnoredAbort(lease)) this.#reported.add(lease);
  }
}

/** The leases of one run of a plugin: how they are logged and traced, and whose fault it is when one does not end. */
export function openLeaseBook(plugin: string, output: PluginOutput, ports: PluginRunPorts): LeaseBook {
  const { log, clock } = ports.kernel;
  return new LeaseBook(plugin, {
    monotonic: () => clock.monotonic(),
    logFor: (lease) =>
      output.bounded(log.child({ plugin, request_id: lease.requestId, correlation_id: lease.correlationId })),
    startSpan: ({ point, key, plugin }, parent) =>
      ports.kernel.tracing.start(`${point} ${key}`, parent, { 'mortise.plugin': plugin }),
    onIgnoredAbort: ({ accountable, point, key, plugin }) => {
      const blocker = ports.kernel.blocker?.();
      if (blocker !== undefined && blocker !== accountable) return false;
      const what = accountable === plugin ? `${point} "${key}"` : `what it does with ${point} "${key}"`;
      if (ports.deadline.begun) {
        ports.onUnfinished({ plugin: accountable, what });
        return true;
      }
      ports.onFault(accountable, 'ignored_abort', new Error(`${what} went on after it was told to stop`));
      return true;
    },
  });
}
