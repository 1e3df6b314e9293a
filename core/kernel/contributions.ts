import type { ManifestContribution, PluginManifest } from '../sdk/manifest.js';
import { canonicalKey } from '../sdk/points/point.js';

/** What identifies a contribution: `tool:web-search` for both `web-search` and `web_search`. */
export function contributionId(point: string, key: string): string {
  return `${point}:${canonicalKey(key)}`;
}

export function contributionKey(contribution: ManifestContribution): string {
  return typeof contribution === 'string' ? contribution : contribution.key;
}

type Declared = { readonly point: string; readonly key: string };

const declaredBy = new WeakMap<PluginManifest, readonly Declared[]>();

/** All that a manifest says it adds: contributions of every point, its routes among them. */
export function declaredContributions(manifest: PluginManifest): readonly Declared[] {
  const known = declaredBy.get(manifest) ?? readDeclared(manifest);
  declaredBy.set(manifest, known);
  return known;
}

function readDeclared(manifest: PluginManifest): readonly Declared[] {
  const declared = Object.entries(manifest.contributes ?? {}).flatMap(([point, keys]) =>
    keys.map((contribution) => ({ point, key: contributionKey(contribution) })),
  );
  const routes = (manifest.permissions?.routes ?? []).map((route) => ({ point: 'route', key: route.name }));
  return [...declared, ...routes];
}
