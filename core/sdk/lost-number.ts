import { redactSecrets } from './mask.js';

/** RFC 6901, section 3. A name that is a secret is not told. */
function pointerPart(name: string): string {
  return redactSecrets(name).replaceAll('~', '~0').replaceAll('/', '~1');
}

/**
 * Where a JSON value that was read holds a number that would not be written again: `1e400` is read as infinity, and
 * written as null. @returns its JSON Pointer, behind `path`; undefined when there is none.
 */
export function lostNumber(value: unknown, path = ''): string | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : path;
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [name, member] of Object.entries(value)) {
    const found = lostNumber(member, `${path}/${pointerPart(name)}`);
    if (found !== undefined) return found;
  }
  return undefined;
}
