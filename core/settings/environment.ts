import { readFile } from 'node:fs/promises';
import { relative, resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { MortiseError } from '../sdk/index.js';

type Variables = Readonly<Record<string, string | undefined>>;

export interface Variable {
  /** The name under which it was found: the canonical one, or its alias. */
  readonly name: string;
  readonly value: string;
}

/** The environment as settings see it: the process's variables over those of the env file. Blank is unset. */
export interface Environment {
  read(name: string): Variable | undefined;
  /** The env file, absolute, whether it exists or not. */
  readonly file: string;
}

const canonicalPrefix = 'MORTISE_';
const aliasPrefix = 'NEXTAI_';

/** `NEXTAI_X` for `MORTISE_X`; other names have no alias. */
export function aliasOf(name: string): string | undefined {
  return name.startsWith(canonicalPrefix) ? aliasPrefix + name.slice(canonicalPrefix.length) : undefined;
}

function lookup(variables: Variables, name: string): Variable | undefined {
  for (const candidate of [name, aliasOf(name)]) {
    const value = candidate === undefined ? undefined : variables[candidate];
    if (candidate !== undefined && value !== undefined && value.trim() !== '') return { name: candidate, value };
  }
  return undefined;
}

async function readEnvFile(path: string, wanted: boolean): Promise<Variables> {
  try {
    return parseEnv(await readFile(path, 'utf8'));
  } catch (error) {
    const missing = error instanceof Error && Reflect.get(error, 'code') === 'ENOENT';
    if (missing && !wanted) return {};
    throw new MortiseError(
      'invalid_settings',
      `The env file ${path} cannot be read${missing ? ': it does not exist' : ''}.`,
      { hint: 'Correct MORTISE_ENV_FILE, or remove it to use .env of the working directory.', cause: error },
    );
  }
}

/**
 * Reads `MORTISE_ENV_FILE` (default `.env` in `cwd`) and lays the process's variables over it.
 * @throws MortiseError `invalid_settings` when a named file cannot be read.
 */
export async function openEnvironment(variables: Variables, cwd: string): Promise<Environment> {
  const named = lookup(variables, 'MORTISE_ENV_FILE')?.value;
  const file = resolve(cwd, named ?? '.env');
  const all: Variables = { ...(await readEnvFile(file, named !== undefined)), ...variables };
  return { file, read: (name) => lookup(all, name) };
}

/** A path for messages: relative where it lies below the folder. */
export function shownPath(folder: string, path: string): string {
  const way = relative(folder, path);
  return way === '' || way.startsWith('..') ? path : way;
}
