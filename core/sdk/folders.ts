import { mkdirSync, statSync } from 'node:fs';
import { dirname, isAbsolute, relative, sep } from 'node:path';

/**
 * Creates a folder and its missing parents. Node's own recursive `mkdir` loops forever in a folder that accepts no
 * entries, such as `/proc`, and a thread in that loop cannot be ended.
 * @throws as `mkdir` does
 */
export function makeFolders(path: string, mode = 0o777): void {
  const missing: string[] = [];
  for (let folder = path; !exists(folder); folder = dirname(folder)) {
    missing.push(folder);
    if (dirname(folder) === folder) break;
  }
  for (const folder of missing.reverse()) make(folder, mode);
  // The existing path may be a file.
  if (missing.length === 0 && !statSync(path).isDirectory()) mkdirSync(path);
}

/**
 * The path of `path` below `root`, blank for `root` itself; undefined when it is outside. Names are compared, links are not
 * followed.
 */
export function pathBelow(root: string, path: string): string | undefined {
  const below = relative(root, path);
  return below === '..' || below.startsWith(`..${sep}`) || isAbsolute(below) ? undefined : below;
}

function exists(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined;
}

function make(path: string, mode: number): void {
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    // Another process created it in between.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || !statSync(path).isDirectory()) throw error;
  }
}
