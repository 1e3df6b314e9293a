import { lstat, realpath } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { pathBelow } from '../sdk/folders.js';
import { MortiseError } from '../sdk/index.js';

function outside(): MortiseError {
  return new MortiseError('outside_roots', 'The path leads outside the allowed folder.', { status: 400 });
}

/** The real path of the nearest existing ancestor, with the missing rest appended. */
async function realOfNearest(path: string): Promise<string> {
  const missing: string[] = [];
  let current = path;
  for (;;) {
    try {
      return join(await realpath(current), ...missing);
    } catch (error) {
      const code: unknown = error instanceof Error ? Reflect.get(error, 'code') : undefined;
      // The target of a dangling link cannot be checked, so the link is refused.
      if (code === 'ELOOP' || (await lstat(current).catch(() => undefined))?.isSymbolicLink() === true) throw outside();
      if ((code !== 'ENOENT' && code !== 'ENOTDIR') || dirname(current) === current) throw outside();
    }
    missing.unshift(basename(current));
    current = dirname(current);
  }
}

/**
 * The real path of `path` (relative to `root`, or absolute) when it is inside `root` after all links are followed. A path
 * that does not exist yet is checked by its nearest existing parent.
 * @throws MortiseError `outside_roots`.
 */
export async function confine(root: string, path: string): Promise<string> {
  if (path.includes('\0')) throw outside();
  const realRoot = await realOfNearest(resolve(root));
  const real = await realOfNearest(resolve(realRoot, path));
  if (pathBelow(realRoot, real) === undefined) throw outside();
  return real;
}
