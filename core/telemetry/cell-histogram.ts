import {
  type MetricObjectWithValues,
  type MetricValueWithName,
  Histogram as PromHistogram,
  type Registry,
} from 'prom-client';
import type { Histogram } from '../sdk/index.js';
import { Cells } from './cells.js';

/** Seconds. */
const defaultBuckets: readonly number[] = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
];

interface Buckets {
  /** One count per bound, and one for what is above the last. */
  readonly counts: number[];
  sum: number;
}

function record(bounds: readonly number[], into: Buckets, seconds: number): void {
  if (!Number.isFinite(seconds)) return;
  let index = 0;
  while (index < bounds.length && seconds > (bounds[index] ?? Number.POSITIVE_INFINITY)) index += 1;
  into.counts[index] = (into.counts[index] ?? 0) + 1;
  into.sum += seconds;
}

/** As the counter: labels are looked up once, recording is a short scan and two additions. */
export class CellHistogram extends PromHistogram<string> implements Histogram {
  private readonly cells: Cells<Buckets>;
  private readonly bounds: readonly number[];
  private readonly metric: string;
  /** Knows name, help and type in prom-client's own form; its own `get` comes back to this class's when it renders. */
  private readonly head: PromHistogram<string>;

  constructor(name: string, help: string, labels: readonly string[], registry: Registry, buckets = defaultBuckets) {
    const bounds = [...buckets].sort((a, b) => a - b);
    super({ name, help, labelNames: [...labels], registers: [registry], buckets: bounds });
    this.bounds = bounds;
    this.metric = name;
    this.head = new PromHistogram({ name, help, registers: [] });
    this.cells = new Cells(name, labels, () => ({ counts: new Array<number>(bounds.length + 1).fill(0), sum: 0 }));
  }

  record(seconds: number, labels: Readonly<Record<string, string>> = {}): void {
    record(this.bounds, this.cells.at(labels), seconds);
  }

  bind(labels: Readonly<Record<string, string>>): { record(seconds: number): void } {
    const cell = this.cells.at(labels);
    return { record: (seconds) => record(this.bounds, cell, seconds) };
  }

  override async get(): Promise<MetricObjectWithValues<MetricValueWithName<string>>> {
    const values: MetricValueWithName<string>[] = [];
    for (const { labels, value: cell } of this.cells.all()) {
      let below = 0;
      cell.counts.forEach((count, index) => {
        below += count;
        const le = this.bounds[index] ?? '+Inf';
        values.push({ labels: { le, ...labels }, value: below, metricName: `${this.metric}_bucket` });
      });
      values.push({ labels: { ...labels }, value: cell.sum, metricName: `${this.metric}_sum` });
      values.push({ labels: { ...labels }, value: below, metricName: `${this.metric}_count` });
    }
    return { ...(await this.head.get()), values };
  }

  /** What prom-client asks for when it renders. */
  getForPromString(): Promise<MetricObjectWithValues<MetricValueWithName<string>>> {
    return this.get();
  }
}
