import type { Principal } from 'mortise/sdk';

const DEFAULT_SPACES = ['team:*', 'org:*'];

/** Principals that stand for nobody in particular: no key, the one key of the server, the platform itself. */
const UNBOUND = new Set(['local', 'default', 'system']);

/** Whether a principal may use only what its key says. */
export function isBound(principal: Principal): boolean {
  return principal.actor !== undefined || principal.spaces !== undefined || !UNBOUND.has(principal.id);
}

/** A glob over spaces: `*` stands for any text, `?` for one character. */
function matchesGlob(glob: string, space: string): boolean {
  const pattern = glob
    .replaceAll(/[.+^${}()|[\]\\]/g, '\\$&')
    .replaceAll('*', '.*')
    .replaceAll('?', '.');
  return new RegExp(`^${pattern}$`, 'su').test(space);
}

/** Whether a principal may read and write a space: its own private one and those its key names. */
export function mayUseSpace(principal: Principal, space: string): boolean {
  if (!isBound(principal)) return true;
  if (principal.actor !== undefined && space === `private:${principal.actor}`) return true;
  return (principal.spaces ?? DEFAULT_SPACES).some((glob) => matchesGlob(glob, space));
}
