import type { Contribution, Disposable, ExtensionPoints, Points } from 'mortise/sdk';

/** The active contributions of a point, listed anew only when they change: a turn asks for them several times. */
export class ActiveContributions<P extends keyof ExtensionPoints & string> implements Disposable {
  readonly #points: Points;
  readonly #point: P;
  readonly #watch: Disposable;
  #known: ReadonlyMap<string, Contribution<P>> | undefined;

  constructor(points: Points, point: P) {
    this.#points = points;
    this.#point = point;
    this.#watch = points.onChange(point, () => {
      this.#known = undefined;
    });
  }

  get(key: string): Contribution<P> | undefined {
    return this.#all.get(key);
  }

  list(): readonly Contribution<P>[] {
    return [...this.#all.values()];
  }

  dispose(): void | Promise<void> {
    return this.#watch.dispose();
  }

  get #all(): ReadonlyMap<string, Contribution<P>> {
    this.#known ??= new Map(
      this.#points
        .list(this.#point)
        .filter(({ active }) => active)
        .map((one) => [one.key, one]),
    );
    return this.#known;
  }
}
