import type { Mount } from './mounts.js';
import type { TableRoute } from './table-route.js';

/**
 * Who has paths where. A catch-all (a route that ends in a rest, or begins with a parameter) would answer every path that
 * others leave unknown, in place of the platform's 404. So it takes none below a path that another plugin, on or off, has
 * a route on, unless it is declared further in; and one that begins at the root takes none of `/.well-known`, nor of a
 * mount that it does not name.
 */
export class PathAreas {
  /** Fixed beginnings of paths, by who has routes there. */
  readonly #owners = new Map<string, Set<string>>();
  /** The same without catch-alls: several plugins may share one, each with methods of its own. */
  readonly #named = new Map<string, Set<string>>();
  readonly #reserved = new Map([['/.well-known', '']]);

  constructor(routes: readonly TableRoute[], mounts: ReadonlyMap<string, Mount>) {
    for (const { name, prefix } of mounts.values()) if (prefix !== undefined) this.#reserved.set(prefix, name);
    for (const { mounted, pattern } of routes) {
      const tables = isCatchAll(pattern) ? [this.#owners] : [this.#owners, this.#named];
      for (const area of beginnings(fixedPart(pattern)))
        for (const table of tables) table.set(area, (table.get(area) ?? new Set()).add(mounted.plugin));
    }
  }

  /** Whether a path that the route's pattern matches is for the route to answer. */
  admits({ pattern, mounted, mount }: TableRoute, path: string): boolean {
    if (!isCatchAll(pattern)) return true;
    const prefix = fixedPart(pattern);
    for (const area of beginnings(path)) {
      if (area.length < prefix.length) continue;
      const owners = (area === prefix ? this.#named : this.#owners).get(area);
      if (owners && (owners.size > 1 || !owners.has(mounted.plugin))) return false;
      if (prefix === '' && (this.#reserved.get(area) ?? mount.name) !== mount.name) return false;
    }
    return true;
  }
}

function isCatchAll(pattern: string): boolean {
  return pattern.includes('/*') || pattern.startsWith('/:');
}

/** A pattern up to its first parameter or rest, without a slash at its end. */
function fixedPart(pattern: string): string {
  const end = pattern.search(/\/[:*]/);
  return end < 0 ? pattern : pattern.slice(0, end);
}

/** `/a`, `/a/b` and `/a/b/c` of `/a/b/c`. */
function beginnings(path: string): readonly string[] {
  const found: string[] = [];
  for (let end = path.indexOf('/', 1); end >= 0; end = path.indexOf('/', end + 1)) found.push(path.slice(0, end));
  return path.length > 1 ? [...found, path] : found;
}
