import type { Principal } from 'mortise/sdk';

const defaultSpaces = ['team:*', 'org:*'];

/** Principals without a bound key: no key, or the server's single key. */
const unboundPrincipals = new Set(['local', 'default']);

/** A glob over spaces: `*` matches any text, `?` one character. */
function matchesGlob(glob: string, space: string): boolean {
  const pattern = glob
    .replaceAll(/[.+^${}()|[\]\\]/g, '\\$&')
    .replaceAll('*', '.*')
    .replaceAll('?', '.');
  return new RegExp(`^${pattern}$`, 'su').test(space);
}

/**
 * Whether a principal may read and write a space. A bound principal may use its own private space and the spaces of its
 * key; an unbound one may use every space.
 */
export function mayUseSpace({ id, actor, spaces }: Principal, space: string): boolean {
  const isBound = actor !== undefined || spaces !== undefined || !unboundPrincipals.has(id);
  if (!isBound) return true;
  if (actor !== undefined && space === `private:${actor}`) return true;
  return (spaces ?? defaultSpaces).some((glob) => matchesGlob(glob, space));
}
