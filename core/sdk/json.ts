import { redactSecrets } from './mask.js';

/**
 * JSON text with the members of every object in code unit order, so that equal values have equal text (RFC 8785 without
 * its number rules, which `JSON.stringify` already follows). Undefined members are omitted, as in JSON.
 */
export function canonicalJson(value: unknown): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null';
  if (Array.isArray(value)) return listText(value);
  if ('toJSON' in value && typeof value.toJSON === 'function') return canonicalJson(value.toJSON());
  return objectText(value as Readonly<Record<string, unknown>>);
}

// Strings are concatenated by hand: this runs for every audit row, and joining lists of parts costs twice as much.

function listText(list: readonly unknown[]): string {
  let text = '[';
  for (let index = 0; index < list.length; index += 1) text += (index === 0 ? '' : ',') + canonicalJson(list[index]);
  return `${text}]`;
}

function objectText(object: Readonly<Record<string, unknown>>): string {
  let text = '{';
  for (const name of Object.keys(object).sort()) {
    const member = object[name];
    if (member !== undefined) text += `${text === '{' ? '' : ','}${JSON.stringify(name)}:${canonicalJson(member)}`;
  }
  return `${text}}`;
}

/** Escapes per RFC 6901, section 3. A name that looks like a secret is redacted. */
export function pointerPart(name: string): string {
  return redactSecrets(name).replaceAll('~', '~0').replaceAll('/', '~1');
}

/**
 * Finds a number in parsed JSON that does not survive serialization: `1e400` is read as infinity and
 * written as null. @returns its JSON Pointer, behind `path`; undefined when there is none.
 */
export function lostNumber(value: unknown, path = ''): string | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : path;
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [name, member] of Object.entries(value)) {
    const found = lostNumber(member, `${path}/${pointerPart(name)}`);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** A JSON object whose members are not checked yet. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** A JSON value for a message: a text as it is, others as JSON. `String` throws for `{"toString": 0}`. */
export function describeValue(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value));
}

/** Whether a parsed JSON value is an object: not null, and not an array. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
