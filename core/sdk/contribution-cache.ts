import type { ExtensionPoints } from './points/index.js';
import type { Contribution, Points } from './points.js';

type PointName = keyof ExtensionPoints & string;

/** A value derived from the contributions of a point. */
export interface ContributionCache<T> {
  /** Derived again on the first read after a contribution was added, removed or changed. */
  readonly current: T;
}

/**
 * Derives a value from the contributions of a point, once per change of them: for tables that a hot path reads. The
 * host removes the listener when the plugin stops.
 *
 * @param derive receives {@link Points.list}, with contributions that are not active at the moment.
 * @example const providers = createContributionCache(host.points, 'provider', activeByKey);
 *   providers.current.get('demo')?.facts
 */
export function createContributionCache<P extends PointName, T>(
  points: Pick<Points, 'list' | 'onChange'>,
  point: P,
  derive: (contributions: readonly Contribution<P>[]) => T,
): ContributionCache<T> {
  let derived: { readonly value: T } | undefined;
  points.onChange(point, () => {
    derived = undefined;
  });
  return {
    get current() {
      derived ??= { value: derive(points.list(point)) };
      return derived.value;
    },
  };
}

/** Active contributions by key, in order of plugin key and then key. */
export type ActiveContributions<P extends PointName> = ReadonlyMap<string, Contribution<P>>;

export function activeByKey<P extends PointName>(contributions: readonly Contribution<P>[]): ActiveContributions<P> {
  return new Map(contributions.filter(({ active }) => active).map((contribution) => [contribution.key, contribution]));
}
