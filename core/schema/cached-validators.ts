import { createHash } from 'node:crypto';
import { readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { ValidateFunction } from 'ajv/dist/2020.js';
import { makeFolders } from '../sdk/folders.js';

const require = createRequire(import.meta.url);
/** Schemas change, and every version leaves a file. */
const maxFiles = 2_000;

let folder: string | undefined;
let compilerVersion: string | undefined;

/**
 * Keeps the code of compiled validators in a folder, for this process and those that start later: compiling the schemas
 * of twenty plugins is a third of a start, loading the code made of them a fiftieth. The folder must be as safe from
 * other users as the program itself, because its files are executed, and in a place from which ajv can be resolved.
 */
export function cacheValidators(in_: string): void {
  folder = in_;
}

/** Where the validator of a schema is cached; undefined while the cache is off. `options` is everything else that affects its code. */
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
