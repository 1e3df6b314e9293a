import type { EffectiveValue } from '../sdk/host/settings.js';
import { isJsonObject } from '../sdk/json.js';
import { maskSecret, redactSecrets } from '../sdk/mask.js';
import type { ComputedConfig, Provenance } from './compute.js';
import type { SecretVariablesOf } from './environment.js';
import { getAt, isAtOrBelow } from './path.js';
import { maskRecognised } from './recognised-secrets.js';
import { isSecretPath, mayHoldSecret, propertyAt, type SchemaFacts } from './schema-facts.js';

interface EffectiveInput {
  readonly owner: string;
  readonly facts: SchemaFacts;
  readonly computed: ComputedConfig;
  readonly file: Readonly<Record<string, unknown>> | undefined;
  readonly fileName: string;
  readonly secretVariables: SecretVariablesOf;
}

function maskAll(value: unknown): unknown {
  if (typeof value === 'string') return value === '' ? '' : maskSecret(value);
  if (typeof value === 'number') return '***';
  if (typeof value !== 'object' || value === null) return value;
  return mapMembers(value, (inner) => maskAll(inner));
}

function mapMembers(value: object, change: (inner: unknown, name: string) => unknown): unknown {
  if (Array.isArray(value)) return value.map((inner, index) => change(inner, `${index}`));
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, change(inner, name)]));
}

/** Every value of one owner with its source, one row per leaf of its schema. Secrets are masked. */
export function effectiveValues(input: EffectiveInput): readonly EffectiveValue[] {
  const { facts, computed } = input;

  function source(path: readonly string[]): Pick<EffectiveValue, 'source' | 'origin'> {
    const found = computed.provenance.findLast((entry) => isAtOrBelow(entry.path, path));
    if (found !== undefined) return { source: found.source, origin: found.origin };
    return getAt(input.file, path) === undefined
      ? { source: 'default', origin: null }
      : { source: 'file', origin: input.fileName };
  }

  function isSecretSource({ source, origin, path }: Provenance): boolean {
    return source === 'secret' || input.secretVariables.has(origin, propertyAt(facts, path));
  }

  function isSecret(path: readonly string[]): boolean {
    return (
      isSecretPath(facts, path) ||
      computed.provenance.some((entry) => isAtOrBelow(entry.path, path) && isSecretSource(entry))
    );
  }

  function masked(value: unknown, path: readonly string[], before?: unknown): unknown {
    if (typeof value === 'string' && mayHoldSecret(facts, path)) return maskRecognised(value, before);
    if (isSecret(path)) return maskAll(value);
    if (typeof value === 'string') return redactSecrets(value);
    if (typeof value !== 'object' || value === null) return value;
    return mapMembers(value, (inner, name) => masked(inner, [...path, name], getAt(value, [`${Number(name) - 1}`])));
  }

  function row(path: readonly string[], value: unknown): EffectiveValue {
    return {
      name: [input.owner, ...path].join('.'),
      owner: input.owner,
      value: value === undefined ? null : masked(value, path),
      ...source(path),
      secret: isSecret(path) || isSecretPath(facts, path, true),
    };
  }

  function rows(value: Readonly<Record<string, unknown>>, path: readonly string[]): EffectiveValue[] {
    const described = facts.properties.filter(
      (property) => property.path.length === path.length + 1 && isAtOrBelow(path, property.path),
    );
    const named = new Set([...described.map((property) => property.path.at(-1) ?? ''), ...Object.keys(value)]);
    return [...named].flatMap((name) => {
      const at = [...path, name];
      const inner = getAt(value, [name]);
      const branch = described.some((property) => property.branch && property.path.at(-1) === name);
      return branch && isJsonObject(inner) ? rows(inner, at) : [row(at, inner)];
    });
  }

  return rows(computed.config, []).filter((entry) => entry.name !== `${input.owner}.$schema`);
}
