import { isSchemaObject, type JsonSchema, resolveLocal } from '../schema/index.js';
import { isObject, member } from './path.js';

const maxDepth = 16;

/** An object of which nothing is required without having a default, and something has one. */
function defaultsItself(schema: JsonSchema, root: JsonSchema, depth: number): boolean {
  if (!isSchemaObject(schema.properties) || depth > maxDepth) return false;
  const required: readonly unknown[] = Array.isArray(schema.required) ? schema.required : [];
  let some = false;
  for (const [name, raw] of Object.entries(schema.properties)) {
    const property = isSchemaObject(raw) ? resolveLocal(raw, root) : {};
    const has = property.default !== undefined || defaultsItself(property, root, depth + 1);
    if (required.includes(name) && !has) return false;
    some ||= has;
  }
  return some;
}

/** Makes the objects that hold nothing but defaults, so that a schema need not say `default: {}` at each level. */
export function fillParents(schema: JsonSchema, root: JsonSchema, value: Record<string, unknown>, depth = 0): void {
  if (!isSchemaObject(schema.properties) || depth > maxDepth) return;
  for (const [name, raw] of Object.entries(schema.properties)) {
    if (!isSchemaObject(raw)) continue;
    const property = resolveLocal(raw, root);
    const present = member(value, name);
    if (isObject(present)) fillParents(property, root, present, depth + 1);
    else if (present === undefined && property.default === undefined && defaultsItself(property, root, depth)) {
      const made: Record<string, unknown> = {};
      value[name] = made;
      fillParents(property, root, made, depth + 1);
    }
  }
}
