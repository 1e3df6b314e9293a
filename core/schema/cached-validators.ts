import { createHash } from 'node:crypto';
import { readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { ValidateFunction } from 'ajv/dist/2020.js';
import { makeFolders } from '../sdk/folders.js';

const require = createRequire(import.meta.url);
/** Every version of a schema leaves a file; at this number all are removed. */
const maxFiles = 2_000;

let folder: string | undefined;
let compilerVersion: string | undefined;

/**
 * Caches the code of compiled validators in a folder, for this and later processes: compiling the schemas of twenty
 * plugins takes a third of a start, loading their code a fiftieth. The folder must be as protected from other users as
 * the program, because its files are executed, and in a place from which ajv can be resolved.
 */
export function cacheValidators(cacheFolder: string): void {
  folder = cacheFolder;
}

/** The cache file of a schema's validator; undefined while the cache is off. `options` also affect its code. */
export function cachePath(schema: unknown, options: unknown): string | undefined {
  if (folder === undefined) return undefined;
  compilerVersion ??= ['ajv', 'ajv-formats']
    .map((name) => (require(`${name}/package.json`) as { readonly version: string }).version)
    .join(' ');
  const hash = createHash('sha256')
    .update(JSON.stringify([compilerVersion, options, schema]))
    .digest('hex');
  return join(folder, `${hash.slice(0, 32)}.cjs`);
}

/** The validator cached at a path; undefined when there is none, or when it cannot be loaded. */
export function loadCached(place: string): ValidateFunction | undefined {
  try {
    return require(place) as ValidateFunction;
  } catch {
    return undefined;
  }
}

/** Stores the code of a validator atomically. If the folder is not writable, validators are compiled at each start. */
export function storeCached(place: string, code: string): void {
  const home = dirname(place);
  const unfinished = `${place}.${process.pid}`;
  try {
    makeFolders(home, 0o700);
    const files = readdirSync(home);
    if (files.length >= maxFiles) for (const file of files) rmSync(join(home, file), { force: true });
    writeFileSync(unfinished, code, { mode: 0o600 });
    renameSync(unfinished, place);
  } catch {
    // Compiled again the next time.
  }
}
