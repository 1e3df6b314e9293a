import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { pathBelow } from '../sdk/folders.js';
import { MortiseError } from '../sdk/index.js';
import { isSensitiveName } from '../sdk/mask.js';
import { isSecretPath, type PropertyFacts, type SchemaFacts } from './schema-facts.js';

type Variables = Readonly<Record<string, string | undefined>>;

interface Variable {
  /** The name under which it was found: the canonical one, or its alias. */
  readonly name: string;
  readonly value: string;
}

/** The environment as settings see it: the process's variables over those of the env file. Blank is unset. */
export interface Environment {
  read(name: string): Variable | undefined;
  /** Of all variables, blank ones included. */
  readonly names: readonly string[];
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
  return { file, names: Object.keys(all), read: (name) => lookup(all, name) };
}

/** A path for messages: relative if it is below the folder. */
export function shownPath(folder: string, path: string): string {
  return pathBelow(folder, path) || path;
}

/** The variables of one owner whose secrecy its own schema does not declare. */
export interface SecretVariablesOf {
  /** Another schema declares it secret. */
  isForeign(name: string): boolean;
  /** Whether the whole value of a variable is a secret. */
  has(name: string, property: PropertyFacts | undefined): boolean;
}

/**
 * Which variables hold secrets: those that the schema of the host or of any plugin declares secret, whatever else reads them
 * and by which name. A variable that only looks like a secret is one too, unless a schema says `x-secret: false`.
 */
export class SecretVariables {
  readonly #host: string;
  readonly #markedBy = new Map<string, Set<string>>();
  /** Host variables that look like secrets but are not. */
  readonly #plain = new Set<string>();

  constructor(host: string) {
    this.#host = host;
  }

  /** @returns the variables that this owner had not declared secret before. */
  learn(owner: string, facts: SchemaFacts): ReadonlySet<string> {
    const found = new Set<string>();
    for (const property of facts.properties) {
      const secret = isSecretPath(facts, property.path, true);
      for (const name of withAliases(property.env)) {
        if (!secret && owner === this.#host) this.#plain.add(name);
        if (!secret || this.#markedBy.get(name)?.has(owner)) continue;
        this.#markedBy.set(name, (this.#markedBy.get(name) ?? new Set()).add(owner));
        found.add(name);
      }
    }
    return found;
  }

  of(owner: string): SecretVariablesOf {
    const isForeign = (name: string): boolean => [...(this.#markedBy.get(name) ?? [])].some((other) => other !== owner);
    return {
      isForeign,
      has: (name, property) => isForeign(name) || (property?.plain !== true && this.#looksSecret(name)),
    };
  }

  /**
   * A variable that a plugin's schema must not read: a secret of the host, or one that would be the name of a file or a
   * time, which are shown to everybody.
   */
  refusedTo(facts: SchemaFacts): string | undefined {
    const asked = facts.properties.flatMap((property) => property.env);
    const pointing = [...facts.fileEnv, ...facts.pollEnv];
    return (
      [...asked, ...pointing].find((name) => this.#markedBy.get(name)?.has(this.#host)) ??
      pointing.find((name) => this.#markedBy.has(name) || this.#looksSecret(name))
    );
  }

  #looksSecret(name: string): boolean {
    return isSensitiveName(name) && !this.#markedBy.has(name) && !this.#plain.has(name);
  }
}

/** Whether one of these variables may set a value of that configuration. */
export function readsAny({ properties }: SchemaFacts, variables: ReadonlySet<string>): boolean {
  return properties.some(({ env }) => withAliases(env).some((name) => variables.has(name)));
}

/** The names, each with the name that is read instead. */
function withAliases(names: readonly string[]): readonly string[] {
  return names.flatMap((name) => [name, aliasOf(name) ?? name]);
}
