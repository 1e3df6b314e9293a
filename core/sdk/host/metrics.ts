/** Counters, gauges and histograms of a plugin; removed when it stops. Labels must not contain user content. */
export interface MetricsService {
  counter(name: string, help: string, labels?: readonly string[]): Counter;
  gauge(name: string, help: string, labels?: readonly string[]): Gauge;
  /** Buckets in seconds. */
  histogram(name: string, help: string, labels?: readonly string[], buckets?: readonly number[]): Histogram;
  /** A gauge whose values are read when metrics are rendered. */
  observe(
    name: string,
    help: string,
    labels: readonly string[],
    read: () => Promise<readonly MetricSample[]> | readonly MetricSample[],
  ): void;
  /** Prometheus text of the whole process. */
  render(): Promise<string>;
}

export interface MetricSample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface Counter {
  add(value?: number, labels?: Readonly<Record<string, string>>): void;
  /** The counter of one set of labels. Create it once and reuse it on hot paths. */
  bind(labels: Readonly<Record<string, string>>): { add(value?: number): void };
}

export interface Gauge {
  set(value: number, labels?: Readonly<Record<string, string>>): void;
}

export interface Histogram {
  record(seconds: number, labels?: Readonly<Record<string, string>>): void;
  /** As {@link Counter.bind}. */
  bind(labels: Readonly<Record<string, string>>): { record(seconds: number): void };
}
