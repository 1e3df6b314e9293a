import { type JsonSchema, resolveLocal } from '../schema/index.js';
import { isJsonObject } from '../sdk/json.js';
import { isSensitiveName } from '../sdk/mask.js';
import { anyEntry, isAtOrBelow, toPointer } from './path.js';

/** A property of a configuration schema, wherever it is nested in objects and lists. */
export interface PropertyFacts {
  /** `*` stands for each entry of a list, or each member of an object whose members have names of the user's choice. */
  readonly path: readonly string[];
  readonly schema: JsonSchema;
  /** Variables that set it; the first one that is set wins. */
  readonly env: readonly string[];
  readonly secret: boolean;
  /** `x-secret: "recognised"`: secrets recognised in its texts are masked. */
  readonly mayHoldSecret: boolean;
  /** `x-secret: false`: not a secret, despite its name. */
  readonly plain: boolean;
  /** An invalid value is replaced by the default. */
  readonly lenient: boolean;
  /** An object whose members are described one by one. */
  readonly branch: boolean;
}

/** What the host reads from a configuration schema besides its rules. */
export interface SchemaFacts {
  readonly schema: JsonSchema;
  /** Parents before children. */
  readonly properties: readonly PropertyFacts[];
  /** An invalid file is replaced by the defaults. */
  readonly lenientFile: boolean;
  /** Members that a file must have if there is one. */
  readonly fileRequired: readonly string[];
  /** It has regular expressions, which may backtrack without end. */
  readonly hasPatterns: boolean;
  /** Variables that name another file. */
  readonly fileEnv: readonly string[];
  /** Variables that set the polling interval of the file, milliseconds; 0 = never. */
  readonly pollEnv: readonly string[];
}

function names(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  return Array.isArray(value) ? value.filter((name) => typeof name === 'string') : [];
}

function collect(schema: JsonSchema, root: JsonSchema, path: readonly string[], secret: boolean): PropertyFacts[] {
  if (path.length > 16) return [];
  if (isJsonObject(schema.items)) {
    const entry = resolveLocal(schema.items, root);
    return collect(entry, root, [...path, anyEntry], secret || entry['x-secret'] === true);
  }
  const found: PropertyFacts[] = [];
  if (isJsonObject(schema.additionalProperties)) {
    const entry = resolveLocal(schema.additionalProperties, root);
    found.push(...collect(entry, root, [...path, anyEntry], secret || entry['x-secret'] === true));
  }
  if (!isJsonObject(schema.properties)) return found;
  for (const [name, raw] of Object.entries(schema.properties)) {
    if (!isJsonObject(raw)) continue;
    const property = resolveLocal(raw, root);
    const facts = {
      path: [...path, name],
      schema: property,
      // A variable sets one value: it cannot mean each entry of a list.
      env: path.includes(anyEntry) ? [] : names(property['x-env']),
      secret: secret || property['x-secret'] === true,
      mayHoldSecret: property['x-secret'] === 'recognised',
      plain: property['x-secret'] === false,
      lenient: property['x-on-invalid'] === 'default',
      branch: isJsonObject(property.properties),
    };
    found.push(facts, ...collect(property, root, facts.path, facts.secret));
  }
  return found;
}

export function readSchemaFacts(schema: JsonSchema): SchemaFacts {
  const file: unknown = schema['x-file'];
  const fileFacts = isJsonObject(file) ? file : {};
  return {
    schema,
    properties: collect(schema, schema, [], false).filter(({ path }) => path[0] !== '$schema'),
    lenientFile: schema['x-on-invalid'] === 'default',
    fileRequired: names(fileFacts.required),
    hasPatterns: /"pattern(?:Properties)?":/.test(JSON.stringify(schema)),
    fileEnv: names(fileFacts.env),
    pollEnv: names(fileFacts.pollEnv),
  };
}

export function propertyAt({ properties }: SchemaFacts, path: readonly string[]): PropertyFacts | undefined {
  return properties.find((property) => toPointer(property.path) === toPointer(path));
}

/**
 * Whether the value at a path is a secret, by its schema or by its name; with `inside` also whether it holds one. Its
 * schema can say that a name is only a name: `x-secret: false`.
 */
export function isSecretPath(facts: SchemaFacts, path: readonly string[], inside = false): boolean {
  const { properties } = facts;
  if (
    properties.some(({ secret, path: at }) => secret && (isAtOrBelow(at, path) || (inside && isAtOrBelow(path, at))))
  ) {
    return true;
  }
  const plain = properties.some((property) => property.plain && isAtOrBelow(property.path, path));
  return !plain && isSensitiveName(path.at(-1) ?? '');
}

/** Whether the text at a path is a secret where one is recognised in it. */
export function mayHoldSecret({ properties }: SchemaFacts, path: readonly string[]): boolean {
  return properties.some((property) => property.mayHoldSecret && isAtOrBelow(property.path, path));
}
