import type { CallContext, Disposable, Principal, TraceContext } from './context.js';
import type { ExtensionPointFacts, ExtensionPoints } from './points/index.js';

/** Where a call comes from and how long it may take. A call context can be passed on as it is. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds; 0 = no limit. Defaults to the point's own limit. */
  readonly timeoutMs?: number | undefined;
  readonly principal?: Principal | undefined;
  readonly requestId?: string | undefined;
  readonly correlationId?: string | undefined;
  readonly trace?: TraceContext | undefined;
  /** Enclosing calls outside its async context: it arrived over HTTP. */
  readonly depth?: number | undefined;
}

/** The public part of a contribution: its key and its facts, not its code. */
export interface Contribution<P extends keyof ExtensionPoints & string = keyof ExtensionPoints & string> {
  readonly key: string;
  readonly plugin: string;
  /** The data part, from the code or (while the plugin is not active) from its manifest. */
  readonly facts: P extends keyof ExtensionPointFacts ? ExtensionPointFacts[P] : Readonly<Record<string, unknown>>;
  /** Names of the point's optional functions that it has. */
  readonly offers: readonly string[];
  /** False: an enabled plugin's manifest declares it, but the plugin is not active. */
  readonly active: boolean;
}

/**
 * Calls contributions of other plugins. Every call is a lease: counted, limited in time, aborted when the plugin
 * stops, and attributed to the plugin in logs, metrics and traces.
 */
export interface Points {
  /** Keys of active contributions, in order of plugin key and then key. */
  keys(point: keyof ExtensionPoints & string): readonly string[];
  /** Active contributions, and those that enabled plugins declare but do not serve now. Empty for a closed point. */
  list<P extends keyof ExtensionPoints & string>(point: P): readonly Contribution<P>[];
  /**
   * The value is valid for this one call: its functions record in the lease which calls the plugin has not answered. A callback
   * that continues after an abort although all calls were answered is a fault of the calling plugin.
   *
   * @throws MortiseError `contribution_unknown` (404) with the known keys, `call_timeout` (504), `call_aborted` (499),
   * `call_too_deep`, `too_many_calls` (508), or what the contribution threw.
   */
  call<P extends keyof ExtensionPoints & string, R>(
    point: P,
    key: string,
    run: (value: ExtensionPoints[P], ctx: CallContext) => R | Promise<R>,
    options?: CallOptions,
  ): Promise<R>;
  /** Like `call`, but the lease lasts until the iterator ends, is returned, or throws. */
  stream<P extends keyof ExtensionPoints & string, T>(
    point: P,
    key: string,
    open: (value: ExtensionPoints[P], ctx: CallContext) => AsyncIterable<T>,
    options?: CallOptions,
  ): AsyncIterable<T>;
  /**
   * Takes the lease now for a call that is made later: the plugin is not stopped before it.
   * @throws MortiseError `contribution_unknown` (404) with the known keys, `call_aborted` (499).
   */
  hold<P extends keyof ExtensionPoints & string>(
    point: P,
    key: string,
    options?: CallOptions,
  ): HeldCall<ExtensionPoints[P]>;
  /** For synchronous points only. */
  pipeline<P extends keyof ExtensionPoints & string>(point: P): Pipeline<P>;
  onChange(point: keyof ExtensionPoints & string, run: () => void): Disposable;
}

/** A call whose lease is taken. It is either made once or released. */
export interface HeldCall<V> {
  /**
   * Makes the call; `ended` is called once with its outcome, possibly before this returns. A call that was aborted while it
   * waited ends with the reason and is not made (`plugin_stopping`, `call_aborted`). A call that is aborted later ends
   * when the contribution has ended, but no later than its time limit (`call_timeout`).
   */
  run(use: (value: V, ctx: CallContext) => unknown, ended: (end: CallEnd) => void): void;
  /** Aborts the call, or releases the lease when it has not begun. */
  abort(cause?: unknown): void;
  /** Releases the lease unused; does nothing when the call has begun. */
  release(): void;
}

/** How a call ended: what it returned or resolved to, or what it threw. */
export type CallEnd = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly error: unknown };

/** A synchronous runner over all contributions of one point; the list is replaced as a whole between two passes. */
export interface Pipeline<P extends keyof ExtensionPoints & string> {
  /** The present contributions, in order of plugin key and then key; one pass should read it once. */
  readonly stages: readonly PipelineStage<P>[];
  /** Increases with every change of `stages`. */
  readonly revision: number;
}

export interface PipelineStage<P extends keyof ExtensionPoints & string> {
  readonly key: string;
  readonly plugin: string;
  readonly facts: Contribution<P>['facts'];
  /** Leased, counted and attributed. Rethrows what the stage throws. */
  run<R>(use: (value: ExtensionPoints[P]) => R): R;
  /** Counts an error of the contribution that was found only after its pass. */
  failed(): void;
}

/**
 * The call options of a context, for a call that overrides some of them. The members of a context are getters, so a spread
 * of the context would lose them.
 *
 * @example points.call('tool', key, run, { ...callOptions(ctx), timeoutMs: 5_000 });
 */
export function callOptions<Context extends CallOptions>({
  signal,
  principal,
  requestId,
  correlationId,
  trace,
}: Context): CallOptions & Pick<Context, 'principal'> {
  return { signal, principal, requestId, correlationId, trace };
}
