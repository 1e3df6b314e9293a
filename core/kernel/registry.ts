import { type ExtensionPointDeclaration, canonicalKey } from '../sdk/points/point.js';
import type { CallStats } from './call-stats.js';
import type { LeaseBook } from './lease-book.js';
import type { Debt } from './lend-contribution.js';

/** One published contribution. */
export interface Registered {
  readonly point: string;
  readonly key: string;
  readonly plugin: string;
  readonly value: unknown;
  /** The value as a caller gets it for one call. */
  readonly lend: (debt: Debt) => object;
  /** The data part, frozen. */
  readonly facts: Readonly<Record<string, unknown>>;
  /** Names of the point's optional functions that the value has. */
  readonly offers: readonly string[];
  readonly leases: LeaseBook;
  readonly stats: CallStats;
  readonly timeoutMs: number;
}

interface PointTable {
  readonly declaration: ExtensionPointDeclaration;
  byKey: ReadonlyMap<string, Registered>;
  /** In order of plugin key, then key. */
  ordered: readonly Registered[];
  revision: number;
  readonly listeners: Set<() => void>;
}

/**
 * What is published, by point. A point's table is immutable and replaced as a whole, so that a reader sees all of a
 * plugin or nothing of it.
 */
export class Registry {
  readonly #tables: ReadonlyMap<string, PointTable>;

  constructor(points: readonly ExtensionPointDeclaration[]) {
    this.#tables = new Map(
      points.map((declaration) => [
        declaration.name,
        { declaration, byKey: new Map(), ordered: [], revision: 0, listeners: new Set() },
      ]),
    );
  }

  declaration(point: string): ExtensionPointDeclaration {
    return this.#table(point).declaration;
  }

  find(point: string, key: string): Registered | undefined {
    const { byKey } = this.#table(point);
    return byKey.get(key) ?? byKey.get(canonicalKey(key));
  }

  /** How a contribution of one plugin is found whatever others call theirs. */
  address(point: string, plugin: string, key: string): string {
    return this.declaration(point).privateKeys ? `${plugin}/${key}` : key;
  }

  all(point: string): readonly Registered[] {
    return this.#table(point).ordered;
  }

  revision(point: string): number {
    return this.#table(point).revision;
  }

  everything(): readonly Registered[] {
    return [...this.#tables.values()].flatMap((table) => table.ordered);
  }

  /** Publishes and withdraws in one step per point, then tells the listeners of the points that changed. */
  swap(added: readonly Registered[], removed: ReadonlySet<Registered>): void {
    const touched = new Set([...added, ...removed].map((one) => one.point));
    for (const point of touched) {
      const table = this.#table(point);
      const next = [...table.ordered.filter((one) => !removed.has(one)), ...added.filter((one) => one.point === point)];
      next.sort((a, b) => compare(a.plugin, b.plugin) || compare(a.key, b.key));
      table.ordered = next;
      table.byKey = this.#index(point, next);
      table.revision += 1;
    }
    for (const point of touched) for (const listener of [...this.#table(point).listeners]) listener();
  }

  onChange(point: string, run: () => void): () => void {
    const { listeners } = this.#table(point);
    listeners.add(run);
    return () => listeners.delete(run);
  }

  /** Listeners of all points: for leak checks. */
  listenerCount(): number {
    return [...this.#tables.values()].reduce((sum, table) => sum + table.listeners.size, 0);
  }

  /** Of several plugins with one private key the first has it alone; each has its address. */
  #index(point: string, ordered: readonly Registered[]): ReadonlyMap<string, Registered> {
    const byKey = new Map<string, Registered>();
    for (const one of ordered) {
      const address = this.address(point, one.plugin, one.key);
      for (const name of [one.key, canonicalKey(one.key)]) if (!byKey.has(name)) byKey.set(name, one);
      for (const name of [address, canonicalKey(address)]) byKey.set(name, one);
    }
    return byKey;
  }

  #table(point: string): PointTable {
    const table = this.#tables.get(point);
    if (!table) throw new Error(`There is no extension point "${point}".`);
    return table;
  }
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
