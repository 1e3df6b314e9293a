import type { JsonSchema } from './types.js';

function list(values: readonly unknown[]): string {
  return values.map((value) => (typeof value === 'string' ? value : JSON.stringify(value))).join(', ');
}

function range(schema: JsonSchema, from: string, above: string, to: string, below: string): string {
  const lower = schema.minimum;
  const upper = schema.maximum;
  if (lower !== undefined && upper !== undefined) return ` from ${lower} to ${upper}`;
  const parts = [
    lower !== undefined ? `${from} ${lower}` : '',
    schema.exclusiveMinimum !== undefined ? `${above} ${schema.exclusiveMinimum}` : '',
    upper !== undefined ? `${to} ${upper}` : '',
    schema.exclusiveMaximum !== undefined ? `${below} ${schema.exclusiveMaximum}` : '',
  ].filter((part) => part !== '');
  return parts.length === 0 ? '' : ` ${parts.join(' and ')}`;
}

function numeric(schema: JsonSchema, noun: string): string {
  const multiple = schema.multipleOf === undefined ? '' : ` that is a multiple of ${schema.multipleOf}`;
  return `${noun}${range(schema, 'of at least', 'greater than', 'of at most', 'less than')}${multiple}`;
}

function size(least: unknown, most: unknown, one: string, many: string): string {
  if (least !== undefined && most !== undefined)
    return least === most ? ` of ${least} ${least === 1 ? one : many}` : ` of ${least} to ${most} ${many}`;
  if (least !== undefined) return ` of at least ${least} ${least === 1 ? one : many}`;
  if (most !== undefined) return ` of at most ${most} ${most === 1 ? one : many}`;
  return '';
}

function text(schema: JsonSchema): string {
  const format = typeof schema.format === 'string' ? ` in the form ${schema.format}` : '';
  const pattern = typeof schema.pattern === 'string' ? ` that matches ${schema.pattern}` : '';
  return `text${size(schema.minLength, schema.maxLength, 'character', 'characters')}${format}${pattern}`;
}

function array(schema: JsonSchema): string {
  const distinct = schema.uniqueItems === true ? ' without repetitions' : '';
  return `a list${size(schema.minItems, schema.maxItems, 'entry', 'entries')}${distinct}`;
}

function byType(type: unknown, schema: JsonSchema): string {
  switch (type) {
    case 'integer':
      return numeric(schema, 'a whole number');
    case 'number':
      return numeric(schema, 'a number');
    case 'boolean':
      return 'true or false';
    case 'string':
      return text(schema);
    case 'array':
      return array(schema);
    case 'object':
      return `an object${size(schema.minProperties, schema.maxProperties, 'member', 'members')}`;
    case 'null':
      return 'null';
    default:
      return 'a valid value';
  }
}

function guessedType(schema: JsonSchema): unknown {
  if (schema.minimum !== undefined || schema.maximum !== undefined || schema.exclusiveMinimum !== undefined)
    return 'number';
  if (schema.pattern !== undefined || schema.minLength !== undefined || schema.format !== undefined) return 'string';
  if (schema.minItems !== undefined || schema.items !== undefined || schema.uniqueItems !== undefined) return 'array';
  if (schema.properties !== undefined) return 'object';
  return undefined;
}

/** What a schema allows, as the end of a sentence: `a whole number from 1 to 50`, `one of file, catalog`. */
export function allowedBy(schema: JsonSchema): string {
  if (schema.const !== undefined) return list([schema.const]);
  if (Array.isArray(schema.enum)) return `one of ${list(schema.enum)}`;
  if (Array.isArray(schema.type)) return schema.type.map((type) => byType(type, schema)).join(' or ');
  return byType(schema.type ?? guessedType(schema), schema);
}
