import { type CallContext, type Logger, type Principal, platformPrincipal, type TraceContext } from '../sdk/context.js';
import { MortiseError } from '../sdk/errors.js';
import type { CallOptions } from '../sdk/points.js';
import { newCorrelationId, newTraceContext } from '../telemetry/index.js';
import type { SpanHandle } from '../telemetry/types.js';
import { type CallTree, type PluginMark, runMarked } from './attribution.js';
import { isThenable } from './time-limit.js';
import type { PendingWork } from './wrap-members.js';

/** The code of a call whose caller has left. */
export const callerGone = 'call_aborted';

/** How long a plugin may go on after its signal was aborted before that counts as a fault, milliseconds. */
export const abortGraceMs = 5_000;

/**
 * The time that a call without a limit of its own may take, milliseconds. Its caller may leave sooner while the plugin
 * waits for a database or an upstream: impatient callers must not put a plugin into quarantine.
 */
export const patienceMs = 60_000;

/** What the span of a failed call shows: a code, never the text of an error. */
const callFailed = Object.freeze({ code: 'call_failed', message: 'The call failed.' });

const recentCalls = 256;

/** Counts and recent durations of one contribution. */
export class CallStats {
  calls = 0;
  errors = 0;
  inFlight = 0;
  readonly #recent = new Float64Array(recentCalls);
  readonly #observe: ((milliseconds: number, failed: boolean) => void) | undefined;

  constructor(observe?: (milliseconds: number, failed: boolean) => void) {
    this.#observe = observe;
  }

  record(milliseconds: number, failed: boolean): void {
    this.#recent[this.calls % recentCalls] = milliseconds;
    this.calls += 1;
    this.inFlight -= 1;
    if (failed) this.errors += 1;
    this.#observe?.(milliseconds, failed);
  }

  /** Of the last 256 calls, milliseconds; null before the first one. */
  percentile(share: number): number | null {
    const count = Math.min(this.calls, recentCalls);
    if (count === 0) return null;
    const sorted = Float64Array.from(this.#recent.subarray(0, count)).sort();
    return sorted[Math.min(count - 1, Math.floor(share * count))] ?? null;
  }
}

/** What the leases of one plugin need of the host. */
export interface LeaseDeps {
  monotonic(): number;
  logFor(lease: Lease): Logger;
  /** Undefined when the trace is not recorded. */
  startSpan(lease: Lease, parent: TraceContext): SpanHandle | undefined;
}

/** The book that opened a lease. */
export interface LeaseOwner {
  readonly plugin: string;
  readonly deps: LeaseDeps;
  close(lease: Lease): void;
}

/**
 * One call into a plugin, and the context the plugin gets with it. Signal, log, ids and trace are made on first use: a
 * call that needs none of them does not pay for them.
 */
export class Lease implements CallContext, PluginMark, PendingWork {
  readonly plugin: string;
  readonly point: string;
  readonly key: string;
  readonly tree: CallTree;
  #startedAt: number;
  #deadline: number;
  readonly #depth: number;
  readonly #options: CallOptions | undefined;
  readonly #ownLimitMs: number;
  readonly #book: LeaseOwner;
  readonly #stats: CallStats;
  #controller: AbortController | undefined;
  #relay: (() => void) | undefined;
  #log: Logger | undefined;
  #correlationId: string | undefined;
  #requestId: string | undefined;
  #trace: TraceContext | undefined;
  /** Only while the trace that the call belongs to is recorded. */
  readonly #span: SpanHandle | undefined;
  /** Rejects what waits for the next step of this call. */
  #onAbort: ((error: MortiseError) => void) | undefined;
  /** Closes what the call left open. */
  #closeCall: (() => void) | undefined;
  #abortReason: MortiseError | undefined;
  #abortedAt = 0;
  /** The plugin whose callback runs in the call; undefined for the platform's own. */
  #caller: string | undefined;
  /** Answers that the plugin has begun and not given. */
  #pending = 0;
  #ended = false;

  constructor(
    book: LeaseOwner,
    point: string,
    key: string,
    stats: CallStats,
    timeoutMs: number,
    ownLimitMs: number,
    options: CallOptions | undefined,
    depth: number,
    tree: CallTree,
  ) {
    const now = book.deps.monotonic();
    this.plugin = book.plugin;
    this.point = point;
    this.key = key;
    this.#startedAt = now;
    this.#deadline = timeoutMs > 0 ? now + timeoutMs : 0;
    this.#depth = depth;
    this.tree = tree;
    tree.open += 1;
    this.#ownLimitMs = ownLimitMs > 0 ? ownLimitMs : patienceMs;
    this.#options = options;
    this.#book = book;
    this.#stats = stats;
    const parent = options?.trace;
    if (parent?.sampled) this.#span = book.deps.startSpan(this, parent);
    const caller = options?.signal;
    if (caller) {
      this.#relay = () => this.abortForCaller(caller.reason);
      caller.addEventListener('abort', this.#relay, { once: true });
    }
  }

  get startedAt(): number {
    return this.#startedAt;
  }

  /** Monotonic milliseconds; 0 = none. */
  get deadline(): number {
    return this.#deadline;
  }

  /** 1 for a call that is made outside of any other; 0 once it has ended, for what it started and did not wait for. */
  get depth(): number {
    return this.#ended ? 0 : this.#depth;
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#abortedAt > 0 && !this.#controller.signal.aborted) this.#controller.abort(this.#abortReason);
    return this.#controller.signal;
  }

  get log(): Logger {
    this.#log ??= this.#book.deps.logFor(this);
    return this.#log;
  }

  get principal(): Principal {
    const principal = this.#options?.principal;
    if (principal) return principal;
    // The platform itself; a plugin says for whom it calls, also when that is the platform.
    if (this.#caller === undefined) return platformPrincipal;
    throw new MortiseError(
      'principal_missing',
      `${this.#caller} calls ${this.point} "${this.key}" without a principal.`,
      {
        hint: 'Pass the context of the call that this is done for, or platformPrincipal for work that the platform started.',
      },
    );
  }

  get correlationId(): string {
    this.#correlationId ??= this.#options?.correlationId ?? newCorrelationId();
    return this.#correlationId;
  }

  get requestId(): string {
    this.#requestId ??= this.#options?.requestId ?? `req-${this.correlationId.slice(5)}`;
    return this.#requestId;
  }

  get trace(): TraceContext {
    this.#trace ??= this.#span?.trace ?? this.#options?.trace ?? newTraceContext(false);
    return this.#trace;
  }

  get aborted(): boolean {
    return this.#abortedAt > 0;
  }

  get abortReason(): MortiseError | undefined {
    return this.#abortReason;
  }

  /** Monotonic time after which it is a fault that the call goes on: it was aborted, and its own time is over. */
  get overdueAt(): number {
    if (this.#abortedAt === 0) return Number.POSITIVE_INFINITY;
    return Math.max(this.#abortedAt, this.#startedAt + this.#ownLimitMs) + abortGraceMs;
  }

  /** The plugin that keeps the call from ending: the caller, where the called plugin has answered everything. */
  get accountable(): string {
    return this.#pending > 0 ? this.plugin : (this.#caller ?? this.plugin);
  }

  calledBy(plugin: string | undefined): void {
    this.#caller = plugin;
  }

  pending<R>(answer: PromiseLike<R>): PromiseLike<R> {
    this.#pending += 1;
    return answer.then(
      (value) => {
        this.#pending -= 1;
        return value;
      },
      (error: unknown) => {
        this.#pending -= 1;
        throw error;
      },
    );
  }

  pendingSteps(): void {
    this.#pending += 1;
  }

  /** Begins the call of a lease that was taken earlier: its time and its limit count from now. */
  begin(timeoutMs: number): void {
    this.#startedAt = this.#book.deps.monotonic();
    this.#deadline = timeoutMs > 0 ? this.#startedAt + timeoutMs : 0;
  }

  abortForCaller(cause: unknown): void {
    this.abort(new MortiseError(callerGone, 'The caller is gone.', { status: 499, cause }));
  }

  /** Aborts the signal and stops the caller's wait. The lease itself ends when the plugin settles. */
  abort(reason: MortiseError): void {
    if (this.#ended || this.#abortedAt > 0) return;
    this.#abortedAt = this.#book.deps.monotonic();
    this.#abortReason = reason;
    this.#controller?.abort(reason);
    this.#onAbort?.(reason);
    this.#closeCall?.();
  }

  throwIfAborted(): void {
    if (this.#abortReason) throw this.#abortReason;
  }

  /** Calls `run` at the abort, or now if that has happened: it closes what the call holds and ends the lease. */
  onAbort(run: () => void): void {
    if (this.#abortedAt > 0) run();
    else this.#closeCall = run;
  }

  /**
   * Runs the plugin's code as this call, and ends the lease with it.
   *
   * @returns what it returns; a promise does not wait past an abort
   */
  run<V, R>(use: (value: V, ctx: CallContext) => R | PromiseLike<R>, value: V): R | Promise<R> {
    try {
      const result = runMarked(this, use, value, this as CallContext);
      if (isThenable(result)) return this.#settle(result as PromiseLike<R>);
      this.end(false);
      return result as R;
    } catch (error) {
      this.end(true);
      throw error;
    }
  }

  #settle<R>(pending: PromiseLike<R>): Promise<R> {
    return new Promise<R>((resolve, reject) => {
      if (this.#abortReason) reject(this.#abortReason);
      this.#onAbort = reject;
      pending.then(
        (value) => {
          this.end(false);
          resolve(value);
        },
        (error: unknown) => {
          this.end(true);
          reject(error);
        },
      );
    });
  }

  /** Waits for one step of a longer call, but not past an abort. */
  waitFor<R>(pending: Promise<R>): Promise<R> {
    return new Promise<R>((resolve, reject) => {
      if (this.#abortReason) reject(this.#abortReason);
      this.#onAbort = reject;
      pending.then(resolve, reject);
    });
  }

  /** Ends the lease; only the first call counts. */
  end(failed: boolean): void {
    if (this.#ended) return;
    this.#ended = true;
    this.tree.open -= 1;
    if (this.#relay) this.#options?.signal?.removeEventListener('abort', this.#relay);
    this.#onAbort = undefined;
    this.#closeCall = undefined;
    // A caller that left is no failure of the plugin; a time limit is.
    const wrong = this.#abortReason ? this.#abortReason.code !== callerGone : failed;
    this.#stats.record(this.#book.deps.monotonic() - this.#startedAt, wrong);
    this.#span?.end(wrong ? (this.#abortReason ?? callFailed) : undefined);
    this.#book.close(this);
  }
}
