import type { Disposable, ObservationType, Points } from 'mortise/sdk';

/** A handler as the worker calls it. */
export interface HandlerEntry {
  readonly key: string;
  /** Milliseconds; 0 = it ends its work itself. */
  readonly timeoutMs: number;
}

/** How long a handler may take unless it says otherwise, milliseconds. */
const defaultMs = 30_000;

/** The active handlers of each type, in order of plugin and key; read anew only when contributions change. */
export class HandlerTable implements Disposable {
  readonly #points: Points;
  readonly #watch: Disposable;
  #byType: Map<ObservationType, readonly HandlerEntry[]> | undefined;

  constructor(points: Points) {
    this.#points = points;
    this.#watch = points.onChange('observation-handler', () => {
      this.#byType = undefined;
    });
  }

  of(type: ObservationType): readonly HandlerEntry[] {
    this.#byType ??= new Map();
    const known = this.#byType.get(type);
    if (known) return known;
    const entries = this.#points
      .list('observation-handler')
      .filter(({ active, facts }) => active && facts.types.includes(type))
      .map(({ key, facts }) => ({ key, timeoutMs: facts.timeoutMs ?? defaultMs }));
    this.#byType.set(type, entries);
    return entries;
  }

  dispose(): void | Promise<void> {
    return this.#watch.dispose();
  }
}
