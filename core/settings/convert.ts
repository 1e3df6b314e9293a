import { delimiter } from 'node:path';
import type { JsonSchema } from '../schema/index.js';
import { isJsonObject } from '../sdk/json.js';

type Converted = { readonly ok: true; readonly value: unknown } | { readonly ok: false };

const trueWords = new Set(['true', '1', 'yes', 'on']);
const falseWords = new Set(['false', '0', 'no', 'off', '']);
const number = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;
const failed: Converted = { ok: false };

function converted(value: unknown): Converted {
  return { ok: true, value };
}

function toNumber(text: string): Converted {
  const value = number.test(text.trim()) ? Number(text) : Number.NaN;
  return Number.isFinite(value) ? converted(value) : failed;
}

function toJson(text: string, isKind: (value: unknown) => boolean): Converted {
  try {
    const value: unknown = JSON.parse(text);
    return isKind(value) ? converted(value) : failed;
  } catch {
    return failed;
  }
}

function toList(text: string, schema: JsonSchema): Converted {
  if (text.trim().startsWith('[')) return toJson(text, Array.isArray);
  const separator = schema['x-env-separator'] === 'path' ? delimiter : ',';
  const parts = text
    .split(separator)
    .map((part) => part.trim())
    .filter((part) => part !== '');
  const items = schema.items as JsonSchema | undefined;
  if (items?.type !== 'integer' && items?.type !== 'number') return converted(parts);
  const numbers = parts.map(toNumber);
  return numbers.every((part) => part.ok) ? converted(numbers.map((part) => part.ok && part.value)) : failed;
}

function typesOf(schema: JsonSchema): readonly unknown[] {
  if (schema.type !== undefined) return Array.isArray(schema.type) ? schema.type : [schema.type];
  const values = Array.isArray(schema.enum) ? schema.enum : schema.const === undefined ? [] : [schema.const];
  return [...new Set(values.map((value) => (value === null ? 'null' : typeof value)))];
}

function convertTo(type: unknown, text: string, schema: JsonSchema): Converted {
  switch (type) {
    case 'integer':
    case 'number':
      return toNumber(text);
    case 'boolean':
      return converted(trueWords.has(text.trim().toLowerCase()));
    case 'array':
      return toList(text, schema);
    case 'object':
      return toJson(text, isJsonObject);
    case 'null':
      return text.trim() === 'null' ? converted(null) : failed;
    default:
      return converted(text);
  }
}

/** A word that is read as false but is not a boolean word: probably a mistake. */
export function isDoubtfulFlag(text: string, schema: JsonSchema): boolean {
  const word = text.trim().toLowerCase();
  return schema.type === 'boolean' && !trueWords.has(word) && !falseWords.has(word);
}

/**
 * Reads a variable's text as its property's type: `true|1|yes|on` in any case is true and every other word false;
 * numbers in decimal notation; lists split at commas, or JSON; objects JSON. With several types the narrowest that fits
 * wins. The schema checks ranges and patterns.
 */
export function convertVariable(text: string, schema: JsonSchema): Converted {
  const types = typesOf(schema);
  if (types.length <= 1) return convertTo(types[0], text, schema);
  for (const type of ['null', 'integer', 'number', 'object', 'array', 'boolean', 'string']) {
    if (!types.includes(type)) continue;
    // If other types are allowed too, only an unambiguous word is a boolean.
    if (type === 'boolean' && !/^(?:true|false|yes|no|on|off)$/i.test(text.trim())) continue;
    if (type === 'array' && types.includes('string') && !text.trim().startsWith('[')) continue;
    const result = convertTo(type, text, schema);
    if (result.ok) return result;
  }
  return failed;
}
