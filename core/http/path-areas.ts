import type { TableRoute } from './mounted-route.js';
import type { Mounts } from './mounts.js';

/**
 * The path prefixes on which plugins have routes. A catch-all (a route that ends in a rest, or begins with a parameter) would
 * answer each unknown path below it in place of the platform's 404. So it does not match below a path that another plugin,
 * on or off, has a route on, unless the catch-all is declared further in; and one that begins at the root matches neither
 * `/.well-known` nor the prefix of a mount that it does not name.
 */
export class PathAreas {
  /** Fixed beginnings of paths, with the plugins that have routes there. */
  readonly #owners = new Map<string, Set<string>>();
  /** The same without catch-alls: several plugins may share one, each with its own methods. */
  readonly #named = new Map<string, Set<string>>();
  readonly #reserved: ReadonlyMap<string, TableRoute['mount'] | undefined>;

  constructor(routes: readonly TableRoute[], mounts: Mounts) {
    this.#reserved = new Map([
      ['/.well-known', undefined],
      ...mounts.prefixes.map(({ prefix, mount }) => [prefix, mount] as const),
    ]);
    for (const { mounted, pattern } of routes) {
      const tables = isCatchAll(pattern) ? [this.#owners] : [this.#owners, this.#named];
      for (const area of beginnings(fixedPart(pattern)))
        for (const table of tables) table.set(area, (table.get(area) ?? new Set()).add(mounted.plugin));
    }
  }

  /** Whether the route may answer a path that its pattern matches. */
  admits({ pattern, mounted, mount }: TableRoute, path: string): boolean {
    if (!isCatchAll(pattern)) return true;
    const prefix = fixedPart(pattern);
    for (const area of beginnings(path)) {
      if (area.length < prefix.length) continue;
      const owners = (area === prefix ? this.#named : this.#owners).get(area);
      if (owners && (owners.size > 1 || !owners.has(mounted.plugin))) return false;
      if (prefix === '' && this.#reserved.has(area) && this.#reserved.get(area) !== mount) return false;
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
