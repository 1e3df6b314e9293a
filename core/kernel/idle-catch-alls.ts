import type { PluginManifest } from '../sdk/manifest.js';

/** A route that answers nothing, and who has paths in its place. */
export interface IdleCatchAll {
  readonly path: string;
  readonly owner: string;
}

/** Routes of a plugin that end in a rest and never get a path: another plugin has routes on the same beginning. */
export function idleCatchAlls(manifest: PluginManifest, others: readonly PluginManifest[]): readonly IdleCatchAll[] {
  return (manifest.permissions?.routes ?? []).flatMap(({ kind, path }) => {
    const beginning = path.slice(0, Math.max(0, path.search(/\/[:*]/)));
    if (kind === 'static' || beginning === '' || !path.includes('/*')) return [];
    const owner = others.find(
      ({ key, permissions }) => key !== manifest.key && permissions?.routes?.some((route) => isOn(beginning, route)),
    );
    return owner ? [{ path, owner: owner.key }] : [];
  });
}

function isOn(beginning: string, { kind, path }: { readonly kind: string; readonly path: string }): boolean {
  return kind !== 'static' && !path.includes('/*') && `${path}/`.startsWith(`${beginning}/`);
}
