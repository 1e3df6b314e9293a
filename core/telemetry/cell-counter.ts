import { type MetricObjectWithValues, type MetricValue, Counter as PromCounter, type Registry } from 'prom-client';
import type { Counter } from '../sdk/index.js';
import { Cells } from './cells.js';

interface Sum {
  total: number;
}

/** prom-client hashes the labels at each `inc` (0.5 µs); a bound cell is one addition. */
export class CellCounter extends PromCounter<string> implements Counter {
  private readonly cells: Cells<Sum>;

  constructor(name: string, help: string, labels: readonly string[], registry: Registry) {
    super({ name, help, labelNames: [...labels], registers: [registry] });
    this.cells = new Cells(name, labels, () => ({ total: 0 }));
  }

  add(value = 1, labels: Readonly<Record<string, string>> = {}): void {
    if (value >= 0) this.cells.at(labels).total += value;
  }

  bind(labels: Readonly<Record<string, string>>): { add(value?: number): void } {
    const sum = this.cells.at(labels);
    return {
      add(value = 1) {
        if (value >= 0) sum.total += value;
      },
    };
  }

  override async get(): Promise<MetricObjectWithValues<MetricValue<string>>> {
    const values = Array.from(this.cells.all(), (cell) => ({ labels: { ...cell.labels }, value: cell.value.total }));
    return { ...(await super.get()), values };
  }
}
