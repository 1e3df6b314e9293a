import { canonicalKey, type Dispatch, type ExtensionPointDeclaration } from '../sdk/points/point.js';
import type { KnownPoints } from './extension-points.js';
import type { CallStats } from './lease.js';
import type { LeaseBook } from './lease-book.js';
import type { PendingWork } from './wrap-members.js';

/** One published contribution. */
export interface Registered {
  readonly point: string;
  readonly key: string;
  readonly plugin: string;
  readonly value: unknown;
  /** The value as a caller gets it for one call. */
  readonly wrap: (call: PendingWork) => object;
  /** The data part, frozen. */
  readonly facts: Readonly<Record<string, unknown>>;
  /** Names of the point's optional functions that the value has. */
  readonly offers: readonly string[];
  readonly leases: LeaseBook;
  readonly stats: CallStats;
  readonly timeoutMs: number;
}

interface PointTable {
  /** Absent: no installed plugin opens the point. */
  declaration: ExtensionPointDeclaration | undefined;
  open: boolean;
  /** All published contributions; those of a closed point are not visible. */
  published: readonly Registered[];
  byKey: ReadonlyMap<string, Registered>;
  /** In order of plugin key, then key. */
  ordered: readonly Registered[];
  revision: number;
  readonly listeners: Set<() => void>;
}

/**
 * Published contributions by extension point. A point's table is immutable and replaced as a whole, so that a reader
 * sees all of a plugin or nothing of it.
 */
export class Registry {
  readonly #tables = new Map<string, PointTable>();

  constructor(points: readonly ExtensionPointDeclaration[]) {
    this.declare(new Map(points.map((declaration) => [declaration.name, { declaration, owners: [], open: true }])));
  }

  /**
   * Takes over the points of the catalogue: opens and closes tables. Contributions to a closed point stay published and
   * become visible when it opens again.
   */
  declare(points: KnownPoints): void {
    const changed = new Set<string>();
    for (const name of new Set([...points.keys(), ...this.#tables.keys()])) {
      const known = points.get(name);
      const table = this.#table(name);
      if (!known || !sameDeclaration(known.declaration, table.declaration)) table.declaration = known?.declaration;
      if (table.open === (known?.open ?? false)) continue;
      table.open = !table.open;
      if (table.published.length > 0) changed.add(name);
    }
    for (const name of changed) this.#replace(name, this.#table(name).published);
    for (const name of changed) this.#notify(name);
  }

  /** Points whose declaration differs from that of the catalogue: contributions were checked against an older one. */
  outdated(points: KnownPoints): readonly string[] {
    return [...this.#tables].flatMap(([name, { declaration }]) => {
      const known = points.get(name);
      return declaration && known && !sameDeclaration(known.declaration, declaration) ? [name] : [];
    });
  }

  /** @throws Error for a point that no installed plugin opens. */
  declaration(point: string): ExtensionPointDeclaration {
    const { declaration } = this.#table(point);
    if (!declaration) throw new Error(`There is no extension point "${point}".`);
    return declaration;
  }

  /** Undefined for a point that no installed plugin opens. */
  dispatch(point: string): Dispatch | undefined {
    return this.#table(point).declaration?.dispatch;
  }

  isOpen(point: string): boolean {
    return this.#table(point).open;
  }

  find(point: string, key: string): Registered | undefined {
    const { byKey } = this.#table(point);
    return byKey.get(key) ?? byKey.get(canonicalKey(key));
  }

  /** As {@link find}, among the contributions to a closed point as well. */
  findPublished(point: string, key: string): Registered | undefined {
    const { open, published } = this.#table(point);
    return open ? this.find(point, key) : this.#index(point, published).get(canonicalKey(key));
  }

  /** How a contribution of one plugin is addressed, whatever keys others use. */
  address(point: string, plugin: string, key: string): string {
    return this.#table(point).declaration?.privateKeys ? `${plugin}/${key}` : key;
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

  /** Publishes and withdraws in one step per point, then notifies the listeners of the points that changed. */
  swap(added: readonly Registered[], removed: ReadonlySet<Registered>): void {
    const touched = new Set([...added, ...removed].map((one) => one.point));
    for (const point of touched) {
      const { published } = this.#table(point);
      const next = [...published.filter((one) => !removed.has(one)), ...added.filter((one) => one.point === point)];
      next.sort((a, b) => compare(a.plugin, b.plugin) || compare(a.key, b.key));
      this.#replace(point, next);
    }
    for (const point of touched) this.#notify(point);
  }

  onChange(point: string, run: () => void): () => void {
    const { listeners } = this.#table(point);
    listeners.add(run);
    return () => listeners.delete(run);
  }

  /** Whether anything waits for changes of the point. */
  isWatched(point: string): boolean {
    return this.#table(point).listeners.size > 0;
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

  #replace(point: string, published: readonly Registered[]): void {
    const table = this.#table(point);
    table.published = published;
    table.ordered = table.open ? published : [];
    table.byKey = this.#index(point, table.ordered);
    table.revision += 1;
  }

  #notify(point: string): void {
    for (const listener of [...this.#table(point).listeners]) listener();
  }

  /** Callers may ask for a point before the plugin that opens it is installed. */
  #table(point: string): PointTable {
    const known = this.#tables.get(point);
    if (known) return known;
    const table: PointTable = {
      declaration: undefined,
      open: false,
      published: [],
      byKey: new Map(),
      ordered: [],
      revision: 0,
      listeners: new Set(),
    };
    this.#tables.set(point, table);
    return table;
  }
}

/** Declarations are read again with every manifest; an equal one is the same, so that what was compiled for it is reused. */
function sameDeclaration(one: ExtensionPointDeclaration, other: ExtensionPointDeclaration | undefined): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
