import { type ContributionCache, createContributionCache, type Points } from 'mortise/sdk';

/** The adapters that pass raw exchanges through. */
export function passableAdapters(points: Pick<Points, 'list' | 'onChange'>): ContributionCache<ReadonlySet<string>> {
  return createContributionCache(
    points,
    'provider',
    (all) => new Set(all.filter(({ active, offers }) => active && offers.includes('raw')).map(({ key }) => key)),
  );
}
