import type { Disposable, ObservationType, Points } from 'mortise/sdk';

/** The active handlers of each type, in order of plugin and key; read anew only when contributions change. */
export class HandlerTable implements Disposable {
  readonly #points: Points;
  readonly #watch: Disposable;
  #byType: Map<ObservationType, readonly string[]> | undefined;

  constructor(points: Points) {
    this.#points = points;
    this.#watch = points.onChange('observation-handler', () => {
      this.#byType = undefined;
    });
  }

  of(type: ObservationType): readonly string[] {
    this.#byType ??= new Map();
    const known = this.#byType.get(type);
    if (known) return known;
    const keys = this.#points
      .list('observation-handler')
      .filter(({ active, facts }) => active && facts.types.includes(type))
      .map(({ key }) => key);
    this.#byType.set(type, keys);
    return keys;
  }

  dispose(): void | Promise<void> {
    return this.#watch.dispose();
  }
}
