import { maskSecret } from '../sdk/mask.js';
import { secretReference } from './compute.js';
import { isObject, member } from './path.js';
import { isSecretPath, type SchemaFacts } from './schema-facts.js';

/**
 * A configuration to be written, in which each secret that was given as its mask is what the file has now (a reference
 * stays a reference): whoever reads a masked configuration may send it back.
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
