import { isJsonObject } from '../sdk/json.js';
import type { JsonSchema } from './types.js';

const schemaMaps = ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'] as const;
const schemaLists = ['allOf', 'anyOf', 'oneOf', 'prefixItems'] as const;
const schemaMembers = [
  'items',
  'additionalItems',
  'contains',
  'additionalProperties',
  'unevaluatedItems',
  'unevaluatedProperties',
  'propertyNames',
  'not',
  'if',
  'then',
  'else',
] as const;

/** The schemas directly inside a schema. */
export function* subSchemas(schema: JsonSchema): Generator<JsonSchema> {
  for (const keyword of schemaMaps) {
    const map = schema[keyword];
    if (isJsonObject(map)) yield* Object.values(map).filter(isJsonObject);
  }
  for (const keyword of schemaLists) {
    const list = schema[keyword];
    if (Array.isArray(list)) yield* list.filter(isJsonObject);
  }
  for (const keyword of schemaMembers) {
    const member = schema[keyword];
    if (isJsonObject(member)) yield member;
  }
}

/** Follows a `$ref` into the same document (`#/$defs/…`); other references are returned unchanged. */
export function resolveLocal(schema: JsonSchema, root: JsonSchema): JsonSchema {
  let current = schema;
  for (let hops = 0; hops < 16; hops += 1) {
    const ref = current.$ref;
    if (typeof ref !== 'string' || !ref.startsWith('#/')) return current;
    let target: unknown = root;
    for (const part of ref.slice(2).split('/')) {
      const name = decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~');
      target = isJsonObject(target) ? target[name] : undefined;
    }
    if (!isJsonObject(target)) return current;
    const { $ref: _, ...siblings } = current;
    current = { ...target, ...siblings };
  }
  return current;
}
