import { MortiseError } from '../sdk/index.js';

const maxSeries = 1_000;
const separator = '\u0000';

type Labels = Readonly<Record<string, string>>;

export interface Cell<V> {
  readonly labels: Labels;
  readonly value: V;
}

/**
 * The label sets of one metric. A metric that meets more than 1,000 of them counts the rest under the label value
 * `other`: a mistaken label must not fill the memory.
 */
export class Cells<V> {
  private readonly byLabels = new Map<string, Cell<V>>();
  private readonly names: readonly string[];
  private readonly metric: string;
  private readonly make: () => V;

  constructor(metric: string, names: readonly string[], make: () => V) {
    this.metric = metric;
    this.names = names;
    this.make = make;
    if (names.length === 0) this.at({});
  }

  /** @throws MortiseError `invalid_metric_labels` when a label is missing or not declared. */
  at(labels: Labels): V {
    const values = this.names.map((name) => labels[name]);
    const found = this.byLabels.get(values.join(separator));
    if (found !== undefined) return found.value;
    if (values.includes(undefined) || Object.keys(labels).length !== this.names.length) {
      throw new MortiseError(
        'invalid_metric_labels',
        `Metric ${this.metric} has the labels [${this.names.join(', ')}] but got [${Object.keys(labels).join(', ')}].`,
      );
    }
    if (this.byLabels.size >= maxSeries) return this.overflow();
    return this.add(labels, values.join(separator));
  }

  private overflow(): V {
    const key = this.names.map(() => 'other').join(separator);
    return (
      this.byLabels.get(key)?.value ?? this.add(Object.fromEntries(this.names.map((name) => [name, 'other'])), key)
    );
  }

  private add(labels: Labels, key: string): V {
    const cell = { labels: { ...labels }, value: this.make() };
    this.byLabels.set(key, cell);
    return cell.value;
  }

  all(): Iterable<Cell<V>> {
    return this.byLabels.values();
  }
}
