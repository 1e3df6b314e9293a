import { createHash, timingSafeEqual } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { writeAtomic } from '../files/index.js';
import { makeFolders } from '../sdk/folders.js';
import { type MortiseError as Coded, MortiseError, type SecretsService } from '../sdk/index.js';
import { isJsonObject } from '../sdk/json.js';
import { maskSecret } from '../sdk/mask.js';
import { serialQueue } from '../sdk/timing.js';
import { secretReference } from './compute.js';
import type { Environment } from './environment.js';
import { member, toPointer } from './path.js';
import { sayUnwritten } from './problems.js';
import { maskRecognised } from './recognised-secrets.js';
import { isSecretPath, mayHoldSecret, type SchemaFacts } from './schema-facts.js';
import { sealSecret, unsealSecret } from './seal-secret.js';
import type { FileWrite } from './types.js';
import { WatchedFile } from './watched-file.js';

/** Named secrets: the environment first, then `secrets.json` of the configuration folder. */
export interface SecretStore {
  get(name: string): string | undefined;
  /** Checks the file; true when it changed. */
  poll(force: boolean): Promise<boolean>;
  /** The file's current problem. */
  readonly problem: Coded | null;
  readonly file: string;
  values(): readonly string[];
  /** Of all secrets and all variables of the environment. */
  names(): readonly string[];
  /**
   * Replaces the file, readable to its owner only, and reads it. `change` gets what it holds and returns what it is to
   * hold. The next look finds it changed.
   * @returns the replacement; undefined when nothing was to be written
   * @throws MortiseError `invalid_secrets_file` (409) when it cannot be used as it is: nothing of it may get lost.
   */
  write(
    change: (stored: Readonly<Record<string, string>>) => Readonly<Record<string, string>>,
  ): Promise<FileWrite | undefined>;
}

type Stored = Readonly<Record<string, string>>;

/** @param shown the file's name for messages */
export function createSecretStore(
  file: string,
  shown: string,
  environment: Environment,
  now: () => number,
): SecretStore {
  const watched = new WatchedFile(file, now);
  let stored: Stored = {};
  let problem: Coded | null = null;
  const serially = serialQueue();
  /** It was read by a write, and no check has reported it yet. */
  let unreported = false;

  function refuse(why: string, hint: string): void {
    problem = new MortiseError('invalid_secrets_file', `${file} ${why}.`, { status: 409, hint });
  }

  async function read(force: boolean): Promise<boolean> {
    const content = await watched.look(force);
    if (content === undefined) return false;
    problem = null;
    if (content.kind === 'absent') stored = {};
    else if (content.kind === 'unusable') refuse(content.reason, 'The secrets read before stay in force.');
    else if (process.platform !== 'win32' && (content.mode & 0o077) !== 0) {
      stored = {};
      refuse('may be read by other users of this machine', `Run: chmod 600 ${file}`);
    } else {
      try {
        const value: unknown = JSON.parse(content.text);
        if (!isJsonObject(value) || !Object.values(value).every((secret) => typeof secret === 'string'))
          throw new Error();
        stored = value as Stored;
      } catch {
        refuse('is not a JSON object of texts', 'Write {"NAME": "value"}. The secrets read before stay in force.');
      }
    }
    return true;
  }

  async function writeNow(change: (stored: Stored) => Stored): Promise<FileWrite | undefined> {
    unreported = (await read(true)) || unreported;
    if (problem !== null) throw problem;
    const next = change(stored);
    if (isDeepStrictEqual(next, stored)) return undefined;
    const before = await readFile(file, 'utf8').catch(() => undefined);
    await sayUnwritten(shown, async () => {
      makeFolders(dirname(file));
      await writeAtomic(file, `${JSON.stringify(next, null, 2)}\n`, 0o600);
    });
    unreported = (await read(true)) || unreported;
    return { path: file, before };
  }

  return {
    file,
    get problem() {
      return problem;
    },
    get: (name) => environment.read(name)?.value ?? (member(stored, name) as string | undefined),
    values: () => Object.values(stored),
    names: () => [...new Set([...environment.names, ...Object.keys(stored)])],
    async poll(force) {
      const changed = (await read(force)) || unreported;
      unreported = false;
      return changed;
    },
    write: (change) => serially(() => writeNow(change)),
  };
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

function allows(pattern: string, name: string): boolean {
  if (pattern === '*') return true;
  if (pattern.startsWith('*')) return name.endsWith(pattern.slice(1));
  return pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : pattern === name;
}

interface SecretsDeps {
  readonly store: SecretStore;
  /** Called with each value that is returned. */
  readonly seen: (value: string) => void;
  /** Encrypts what plugins store. */
  readonly key: Uint8Array | undefined;
  /** Whether a variable is a setting of the host or of a plugin. */
  readonly isSetting: (name: string) => boolean;
}

/** `host.use('secrets')`: only the names a manifest declares. */
export function secretsFor({ store, seen, key, isSetting }: SecretsDeps, listed: readonly string[]): SecretsService {
  const isListed = (name: string): boolean => listed.some((pattern) => allows(pattern, name));
  return {
    names: () =>
      store.names().filter((name) => isListed(name) && !isSetting(name) && (store.get(name) ?? '').trim() !== ''),
    get(name) {
      if (!isListed(name)) {
        throw new MortiseError('secret_denied', `The manifest does not list the secret ${name}.`, {
          hint: 'Add it to permissions.secrets of plugin.json.',
        });
      }
      const value = store.get(name);
      if (value === undefined || value.trim() === '') return undefined;
      seen(value);
      return value;
    },
    equal: (a, b) => timingSafeEqual(digest(a), digest(b)),
    seal(text, place) {
      seen(text);
      return sealSecret(text, place, key);
    },
    unseal(stored, place) {
      const text = unsealSecret(stored, place, key);
      seen(text);
      return text;
    },
  };
}

/**
 * A configuration to be written, in which each secret that was given as its mask is what the file has now (a reference
 * stays a reference): a client that read a masked configuration may send it back.
 */
export function keepSecrets(
  facts: SchemaFacts,
  given: Readonly<Record<string, unknown>>,
  stored: Readonly<Record<string, unknown>>,
  clear: (name: string) => string | undefined,
): Record<string, unknown> {
  function keep(value: unknown, old: unknown, path: readonly string[], before?: unknown): unknown {
    const reference = secretReference(old);
    if (typeof value === 'string') {
      const isRecognised = mayHoldSecret(facts, path);
      const isSecret = isRecognised || isSecretPath(facts, path);
      const text = reference === undefined ? (isSecret ? old : undefined) : clear(reference);
      if (typeof text !== 'string') return value;
      const mask = isRecognised ? maskRecognised(text, before) : maskSecret(text);
      return mask === value ? old : value;
    }
    if (Array.isArray(value))
      return value.map((entry, index) =>
        keep(entry, member(old, String(index)), [...path, `${index}`], value[index - 1]),
      );
    if (!isJsonObject(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, entry]) => [name, keep(entry, member(old, name), [...path, name])]),
    );
  }

  const kept = keep(given, stored, []) as Record<string, unknown>;
  const $schema = stored.$schema;
  return typeof $schema === 'string' && kept.$schema === undefined ? { $schema, ...kept } : kept;
}

/** A configuration for its file, and the secrets removed from it, by the name that replaces each. */
interface SeparatedSecrets {
  readonly config: Readonly<Record<string, unknown>>;
  readonly secrets: Readonly<Record<string, string>>;
}

/**
 * Secret texts are replaced by references, so that the file may be shown and committed.
 *
 * @param present the file's current content
 */
export function separateSecrets(
  facts: SchemaFacts,
  owner: string,
  config: Readonly<Record<string, unknown>>,
  present: unknown,
): SeparatedSecrets {
  const secrets: Record<string, string> = {};
  const taken = new Set([...references(config), ...references(present)]);

  function nameFor(path: readonly string[]): string {
    // No variable has such a name. A name in use keeps its value: the file that refers to it is replaced only later.
    const name = `${owner}${toPointer(path)}`;
    for (let count = 1; ; count += 1) {
      const free = count === 1 ? name : `${name}#${count}`;
      if (!taken.has(free)) return free;
    }
  }

  function separate(value: unknown, path: readonly string[], before?: unknown): unknown {
    if (typeof value === 'string') {
      const isSecret = mayHoldSecret(facts, path) ? maskRecognised(value, before) !== value : isSecretPath(facts, path);
      if (value === '' || !isSecret) return value;
      const name = nameFor(path);
      secrets[name] = value;
      return { $secret: name };
    }
    if (Array.isArray(value))
      return value.map((entry, index) => separate(entry, [...path, `${index}`], value[index - 1]));
    if (!isJsonObject(value) || secretReference(value) !== undefined) return value;
    return Object.fromEntries(Object.entries(value).map(([name, entry]) => [name, separate(entry, [...path, name])]));
  }

  return { config: separate(config, []) as SeparatedSecrets['config'], secrets };
}

/** Names of `secrets.json` that belong to an owner's file and that it no longer refers to. */
export function unusedSecrets(owner: string, config: unknown, stored: Stored): readonly string[] {
  const used = new Set(references(config));
  return Object.keys(stored).filter((name) => name.startsWith(`${owner}/`) && !used.has(name));
}

function references(value: unknown): readonly string[] {
  const reference = secretReference(value);
  if (reference !== undefined) return [reference];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(references);
}
