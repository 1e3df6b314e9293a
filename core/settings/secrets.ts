import { createHash, timingSafeEqual } from 'node:crypto';
import { type MortiseError as Coded, MortiseError, type SecretsService } from '../sdk/index.js';
import { maskSecret } from '../sdk/mask.js';
import { secretReference } from './compute.js';
import type { Environment } from './environment.js';
import { isObject, member } from './path.js';
import { isSecretPath, type SchemaFacts } from './schema-facts.js';
import { sealSecret, unsealSecret } from './seal-secret.js';
import { WatchedFile } from './watched-file.js';

/** Named secrets: the environment first, then `secrets.json` of the configuration folder. */
export interface SecretStore {
  get(name: string): string | undefined;
  /** Looks at the file; true when it changed. */
  poll(force: boolean): Promise<boolean>;
  /** What is wrong with the file now. */
  readonly problem: Coded | null;
  readonly file: string;
  values(): readonly string[];
}

export function createSecretStore(file: string, environment: Environment, now: () => number): SecretStore {
  const watched = new WatchedFile(file, now);
  let stored: Readonly<Record<string, string>> = {};
  let problem: Coded | null = null;

  function refuse(why: string, hint: string): void {
    problem = new MortiseError('invalid_secrets_file', `${file} ${why}.`, { hint });
  }

  return {
    file,
    get problem() {
      return problem;
    },
    get: (name) => environment.read(name)?.value ?? (member(stored, name) as string | undefined),
    values: () => Object.values(stored),
    async poll(force) {
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
          if (!isObject(value) || !Object.values(value).every((secret) => typeof secret === 'string'))
            throw new Error();
          stored = value as Record<string, string>;
        } catch {
          refuse('is not a JSON object of texts', 'Write {"NAME": "value"}. The secrets read before stay in force.');
        }
      }
      return true;
    },
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

/** `host.use('secrets')`: only the names a manifest declares. `key` encrypts what plugins store. */
export function secretsFor(
  store: SecretStore,
  names: readonly string[],
  seen: (value: string) => void,
  key: Uint8Array | undefined,
): SecretsService {
  return {
    get(name) {
      if (!names.some((pattern) => allows(pattern, name))) {
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
  function keep(value: unknown, old: unknown, path: readonly string[]): unknown {
    const reference = secretReference(old);
    if (typeof value === 'string') {
      const text = reference === undefined ? (isSecretPath(facts, path) ? old : undefined) : clear(reference);
      return typeof text === 'string' && maskSecret(text) === value ? old : value;
    }
    if (Array.isArray(value))
      return value.map((entry, index) => keep(entry, member(old, String(index)), [...path, `${index}`]));
    if (!isObject(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, entry]) => [name, keep(entry, member(old, name), [...path, name])]),
    );
  }

  const kept = keep(given, stored, []) as Record<string, unknown>;
  const $schema = stored.$schema;
  return typeof $schema === 'string' && kept.$schema === undefined ? { $schema, ...kept } : kept;
}
