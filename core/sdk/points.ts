import type { CallContext, Disposable, Principal, TraceContext } from './context.js';
import type { ExtensionPointFacts, ExtensionPoints } from './points/index.js';

/** Origin and time limit of a call. A call context can be passed as it is. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds; 0 = no limit. Defaults to the point's own limit. */
  readonly timeoutMs?: number | undefined;
  readonly principal?: Principal | undefined;
  readonly requestId?: string | undefined;
  readonly correlationId?: string | undefined;
  readonly trace?: TraceContext | undefined;
}

/** The public view of a contribution: its key and facts, without its code. */
export interface Contribution<P extends keyof ExtensionPoints & string = keyof ExtensionPoints & string> {
  readonly key: string;
  readonly plugin: string;
  /** The data part, from the code or (while the plugin is not active) from its manifest. */
  readonly facts: P extends keyof ExtensionPointFacts ? ExtensionPointFacts[P] : Readonly<Record<string, unknown>>;
  /** Names of the point's optional functions that the contribution implements. */
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
  /** Active contributions, and those declared by enabled plugins that are not active at the moment. */
  list<P extends keyof ExtensionPoints & string>(point: P): readonly Contribution<P>[];
  /**
   * The value is valid during this call only: its functions record in the lease which of their results are pending. A
   * callback that continues after an abort while none is pending is a fault of the calling plugin.
   *
   * @throws MortiseError `contribution_unknown` (404) with the known keys, `call_timeout` (504), `call_aborted` (499),
   * or whatever the contribution threw.
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
   * Takes the lease now for a call that is made later, for instance from a queue. A stopping plugin waits for it.
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

/** A call whose lease is already taken. Either run it once or release it. */
export interface HeldCall<V> {
  /**
   * Makes the call. `ended` receives the outcome exactly once, possibly before this returns. If the call was aborted
   * before it ran, it ends with the reason (`plugin_stopping`, `call_aborted`). If it is aborted later, it ends when the
   * contribution settles, at the latest at its time limit (`call_timeout`).
   */
  run(use: (value: V, ctx: CallContext) => unknown, ended: (end: CallEnd) => void): void;
  /** Aborts the call, or releases the lease when the call has not begun. */
  abort(cause?: unknown): void;
  /** Releases an unused lease; does nothing once the call has begun. */
  release(): void;
}

/** Outcome of a call: its (resolved) value, or the error that it threw. */
export type CallEnd = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly error: unknown };

/** A synchronous runner over all contributions of one point. The list is replaced atomically between two passes. */
export interface Pipeline<P extends keyof ExtensionPoints & string> {
  /** Current contributions, in order of plugin key and then key. Read it once per pass. */
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
  /** Counts an error of the contribution that was detected after its pass. */
  failed(): void;
}

/**
 * The call options of a context, for a call that overrides some of them. The members of a context are getters, so a spread
 * of the context would lose them.
 *
 * @example points.call('tool', key, run, { ...callOptions(ctx), timeoutMs: 5_000 });
 */
export function callOptions({ signal, principal, requestId, correlationId, trace }: CallOptions): CallOptions {
  return { signal, principal, requestId, correlationId, trace };
}
