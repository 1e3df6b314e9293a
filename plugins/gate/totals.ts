import type { GateAction, GateTotals } from 'mortise/contracts/gate';

const reasonLimit = 500;

/** A count that is changed in place. */
interface Cell {
  count: number;
}

/** What has been decided since the start. */
export class Totals {
  readonly #byAction = { deliver: 0, sink: 0, drop: 0 };
  readonly #byScene = new Map<string, Cell>();
  readonly #byReason = new Map<string, Cell>();

  count(action: GateAction, scene: string, reason: string): void {
    this.#byAction[action] += 1;
    cellOf(this.#byScene, scene).count += 1;
    const known = this.#byReason.has(reason) || this.#byReason.size < reasonLimit;
    cellOf(this.#byReason, known ? reason : 'other').count += 1;
  }

  read(): GateTotals {
    const { deliver, sink, drop } = this.#byAction;
    return {
      processed: deliver + sink + drop,
      delivered: deliver,
      sunk: sink,
      dropped: drop,
      by_scene: numbers(this.#byScene),
      by_reason: numbers(this.#byReason),
    };
  }
}

function cellOf(cells: Map<string, Cell>, name: string): Cell {
  const known = cells.get(name);
  if (known) return known;
  const made = { count: 0 };
  cells.set(name, made);
  return made;
}

function numbers(cells: ReadonlyMap<string, Cell>): Readonly<Record<string, number>> {
  return Object.fromEntries([...cells].map(([name, { count }]) => [name, count]));
}
