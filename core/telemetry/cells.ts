import {
  type MetricObjectWithValues,
  type MetricValue,
  type MetricValueWithName,
  Counter as PromCounter,
  Histogram as PromHistogram,
  type Registry,
} from 'prom-client';
import type { Histogram } from '../sdk/host/metrics.js';
import { type Counter, MortiseError } from '../sdk/index.js';

const maxSeries = 1_000;
const separator = '\u0000';

type Labels = Readonly<Record<string, string>>;

interface Cell<V> {
  readonly labels: Labels;
  readonly value: V;
}

/**
 * The label sets of one metric. A metric with more than 1,000 of them counts the rest under the label value
 * `other`: a mistaken label must not fill the memory.
 */
class Cells<V> {
  readonly #byLabels = new Map<string, Cell<V>>();
  readonly #names: readonly string[];
  readonly #metric: string;
  readonly #make: () => V;

  constructor(metric: string, names: readonly string[], make: () => V) {
    this.#metric = metric;
    this.#names = names;
    this.#make = make;
    if (names.length === 0) this.at({});
  }

  /** @throws MortiseError `invalid_metric_labels` when a label is missing or not declared. */
  at(labels: Labels): V {
    const values = this.#names.map((name) => labels[name]);
    const found = this.#byLabels.get(values.join(separator));
    if (found !== undefined) return found.value;
    if (values.includes(undefined) || Object.keys(labels).length !== this.#names.length) {
      throw new MortiseError(
        'invalid_metric_labels',
        `Metric ${this.#metric} has the labels [${this.#names.join(', ')}] but got [${Object.keys(labels).join(', ')}].`,
      );
    }
    if (this.#byLabels.size >= maxSeries) return this.#overflow();
    return this.#add(labels, values.join(separator));
  }

  #overflow(): V {
    const key = this.#names.map(() => 'other').join(separator);
    return (
      this.#byLabels.get(key)?.value ?? this.#add(Object.fromEntries(this.#names.map((name) => [name, 'other'])), key)
    );
  }

  #add(labels: Labels, key: string): V {
    const cell = { labels: { ...labels }, value: this.#make() };
    this.#byLabels.set(key, cell);
    return cell.value;
  }

  all(): Iterable<Cell<V>> {
    return this.#byLabels.values();
  }
}

interface Sum {
  total: number;
}

/** prom-client hashes the labels at each `inc` (0.5 µs); a bound cell is one addition. */
export class CellCounter extends PromCounter<string> implements Counter {
  readonly #cells: Cells<Sum>;

  constructor(name: string, help: string, labels: readonly string[], registry: Registry) {
    super({ name, help, labelNames: [...labels], registers: [registry] });
    this.#cells = new Cells(name, labels, () => ({ total: 0 }));
  }

  add(value = 1, labels: Readonly<Record<string, string>> = {}): void {
    if (value >= 0) this.#cells.at(labels).total += value;
  }

  bind(labels: Readonly<Record<string, string>>): { add(value?: number): void } {
    const sum = this.#cells.at(labels);
    return {
      add(value = 1) {
        if (value >= 0) sum.total += value;
      },
    };
  }

  override async get(): Promise<MetricObjectWithValues<MetricValue<string>>> {
    const values = Array.from(this.#cells.all(), (cell) => ({ labels: { ...cell.labels }, value: cell.value.total }));
    return { ...(await super.get()), values };
  }
}

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
  readonly #cells: Cells<Buckets>;
  readonly #bounds: readonly number[];
  readonly #metric: string;
  /** Knows name, help and type in prom-client's own form; its own `get` comes back to this class's when it renders. */
  readonly #head: PromHistogram<string>;

  constructor(name: string, help: string, labels: readonly string[], registry: Registry, buckets = defaultBuckets) {
    const bounds = [...buckets].sort((a, b) => a - b);
    super({ name, help, labelNames: [...labels], registers: [registry], buckets: bounds });
    this.#bounds = bounds;
    this.#metric = name;
    this.#head = new PromHistogram({ name, help, registers: [] });
    this.#cells = new Cells(name, labels, () => ({ counts: new Array<number>(bounds.length + 1).fill(0), sum: 0 }));
  }

  record(seconds: number, labels: Readonly<Record<string, string>> = {}): void {
    record(this.#bounds, this.#cells.at(labels), seconds);
  }

  bind(labels: Readonly<Record<string, string>>): { record(seconds: number): void } {
    const cell = this.#cells.at(labels);
    return { record: (seconds) => record(this.#bounds, cell, seconds) };
  }

  override async get(): Promise<MetricObjectWithValues<MetricValueWithName<string>>> {
    const values: MetricValueWithName<string>[] = [];
    for (const { labels, value: cell } of this.#cells.all()) {
      let below = 0;
      cell.counts.forEach((count, index) => {
        below += count;
        const le = this.#bounds[index] ?? '+Inf';
        values.push({ labels: { le, ...labels }, value: below, metricName: `${this.#metric}_bucket` });
      });
      values.push({ labels: { ...labels }, value: cell.sum, metricName: `${this.#metric}_sum` });
      values.push({ labels: { ...labels }, value: below, metricName: `${this.#metric}_count` });
    }
    return { ...(await this.#head.get()), values };
  }

  /** What prom-client asks for when it renders. */
  getForPromString(): Promise<MetricObjectWithValues<MetricValueWithName<string>>> {
    return this.get();
  }
}
