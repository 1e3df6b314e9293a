import type { TraceContext } from '../sdk/context.js';
import type { Histogram } from '../sdk/host/metrics.js';
import type { Counter, Logger, MetricsService } from '../sdk/index.js';

export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'silent';

export type LogFields = Readonly<Record<string, unknown>>;

/** The SDK's logger, with additions for the kernel. */
export interface HostLogger extends Logger {
  /** Adds fields to every line. Costs one object; nothing is serialised before a line is written. */
  child(fields: LogFields): HostLogger;
  enabled(level: Exclude<LogLevel, 'silent'>): boolean;
}

export interface LogSink {
  readonly log: HostLogger;
  /** Lines are written for people, not for programs. */
  readonly readable: boolean;
  setLevel(level: LogLevel): void;
  /** Hides a value in all later lines. Values under 6 characters are ignored. */
  hide(secret: string): void;
  /** A text as it is logged: without hidden values and apparent secrets. */
  clean(text: string): string;
  /** Lines that could not be written since the start. */
  dropped(): number;
  /** Writes what is buffered. */
  flush(): void;
}

/** One registry for the process; a service for each plugin. */
export interface MetricsRegistry {
  /** Metrics of the host itself, defined once. */
  readonly host: HostMetrics;
  /** `host.use('metrics')` of one plugin. Disposing withdraws its metrics. */
  forPlugin(plugin: string): MetricsService & { dispose(): void };
  render(): Promise<string>;
  readonly contentType: string;
  dispose(): void;
}

/** The host's own metrics. Bind labels once per route, contribution, … and keep what `bind` returns. */
export interface HostMetrics {
  /** route, method, status */
  readonly httpRequests: Counter;
  /** route, method */
  readonly httpDuration: Histogram;
  /** point, key, plugin, outcome */
  readonly pointCalls: Counter;
  /** point, key, plugin */
  readonly pointDuration: Histogram;
  /** Values of a gauge, read when metrics are asked for: labels point, key, plugin. */
  observePointInflight(read: () => readonly { labels: Readonly<Record<string, string>>; value: number }[]): void;
  /** Labels key, state: 1 for the present state. */
  observePluginState(read: () => readonly { labels: Readonly<Record<string, string>>; value: number }[]): void;
  /** Label state: used, free, waiting. */
  observeDatabasePool(read: () => readonly { labels: Readonly<Record<string, string>>; value: number }[]): void;
  /** Log lines that could not be written, read when metrics are asked for. */
  observeDroppedLines(read: () => number): void;
  /** source, severity, code */
  readonly alerts: Counter;
}

/** A span that is being recorded. */
export interface SpanHandle {
  readonly trace: TraceContext;
  set(name: string, value: string | number | boolean): void;
  /** Runs with this span as the active one, for instrumentation below. */
  run<T>(work: () => T): T;
  /** Ends it; with an error its code (never its text) is recorded. */
  end(error?: unknown): void;
}

export interface Tracing {
  /** An OpenTelemetry provider is registered in this process. */
  readonly enabled: boolean;
  /** The trace of a `traceparent` header, or a new one for an absent or bad header. */
  incoming(traceparent: string | undefined): TraceContext;
  /**
   * The outermost span of a request: continues the header's trace, or lets the provider begin one. Without a provider
   * only the trace's ids are made.
   */
  begin(
    name: string,
    traceparent: string | undefined,
    attributes?: Readonly<Record<string, string | number | boolean>>,
  ): { readonly trace: TraceContext; readonly span: SpanHandle | undefined };
  /** A child of `parent`; undefined when it is not recorded, which costs nothing. */
  start(
    name: string,
    parent: TraceContext,
    attributes?: Readonly<Record<string, string | number | boolean>>,
  ): SpanHandle | undefined;
}
