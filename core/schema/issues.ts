import type { ErrorObject } from 'ajv';
import { isJsonObject, pointerPart } from '../sdk/json.js';
import type { IssueClass, JsonSchema, SchemaIssue } from './types.js';

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
  const distinct = schema.uniqueItems === true ? ' without duplicates' : '';
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

/** The values that a schema allows, as the end of a sentence: `a whole number from 1 to 50`, `one of file, catalog`. */
export function allowedBy(schema: JsonSchema): string {
  if (schema.const !== undefined) return list([schema.const]);
  if (Array.isArray(schema.enum)) return `one of ${list(schema.enum)}`;
  if (Array.isArray(schema.type)) return schema.type.map((type) => byType(type, schema)).join(' or ');
  return byType(schema.type ?? guessedType(schema), schema);
}

/** The class of a violation. */
export function issueClass(issue: Pick<SchemaIssue, 'keyword'>): IssueClass {
  if (issue.keyword === 'required' || issue.keyword === 'dependentRequired') return 'missing';
  return issue.keyword === 'type' ? 'type' : 'value';
}

const classOrder: Readonly<Record<IssueClass, number>> = { missing: 0, type: 1, value: 2 };

function knownNames(parent: JsonSchema): string {
  const names = isJsonObject(parent.properties) ? Object.keys(parent.properties) : [];
  return names.length === 0 || names.length > 24 ? '' : `; known here: ${names.join(', ')}`;
}

function worded(error: ErrorObject): string {
  const parent: JsonSchema = isJsonObject(error.parentSchema) ? error.parentSchema : {};
  switch (error.keyword) {
    case 'required':
    case 'dependentRequired':
      return 'is required';
    case 'additionalProperties':
    case 'unevaluatedProperties':
      return `is not a known name${knownNames(parent)}`;
    case 'propertyNames':
      return 'has a member whose name is not allowed';
    case 'anyOf':
    case 'oneOf':
      return 'matches none of the allowed forms';
    case 'false schema':
      return 'must not be given';
    case 'type':
    case 'enum':
    case 'const':
    case 'minimum':
    case 'maximum':
    case 'exclusiveMinimum':
    case 'exclusiveMaximum':
    case 'multipleOf':
    case 'minLength':
    case 'maxLength':
    case 'pattern':
    case 'format':
    case 'minItems':
    case 'maxItems':
    case 'uniqueItems':
    case 'minProperties':
    case 'maxProperties':
      return `must be ${allowedBy(parent)}`;
    default:
      return error.message ?? 'is not valid';
  }
}

function located(error: ErrorObject): string {
  const missing = error.params.missingProperty ?? error.params.additionalProperty ?? error.params.unevaluatedProperty;
  return missing === undefined ? error.instancePath : `${error.instancePath}/${pointerPart(String(missing))}`;
}

/**
 * Failures inside the branches of a choice are omitted: only the choice itself is reported, as a wrong type when
 * all branches refuse the type. If only one branch accepts the type, its failures are reported.
 */
function withoutBranches(errors: readonly ErrorObject[]): readonly ErrorObject[] {
  const choices = errors.filter((error) => error.keyword === 'anyOf' || error.keyword === 'oneOf');
  if (choices.length === 0) return errors;
  const belongsTo = (error: ErrorObject, choice: ErrorObject) => error.schemaPath.startsWith(`${choice.schemaPath}/`);
  return errors
    .filter((error) => !choices.some((choice) => belongsTo(error, choice)))
    .flatMap((error) => {
      if (!choices.includes(error)) return error;
      const place = `${error.instancePath}/`;
      const branches = errors.filter((one) => belongsTo(one, error) && `${one.instancePath}/`.startsWith(place));
      const isType = (one: ErrorObject) => one.keyword === 'type' && one.instancePath === error.instancePath;
      const members = branches.filter((one) => one.instancePath !== error.instancePath);
      if (
        members.length > 0 &&
        members.length < branches.length &&
        branches.every((one) => isType(one) || members.includes(one))
      )
        return members;
      if (branches.length === 0 || !branches.every(isType)) return error;
      const type = branches.flatMap(({ params }) => params.type as string | string[]);
      return { ...error, keyword: 'type', params: { type }, parentSchema: { type } };
    });
}

/** ajv's errors as issues: one per path and message, missing before type before value. */
export function toIssues(errors: readonly ErrorObject[]): readonly SchemaIssue[] {
  const seen = new Set<string>();
  const issues: SchemaIssue[] = [];
  for (const error of withoutBranches(errors)) {
    if (error.keyword === 'if') continue;
    const issue = { path: located(error), keyword: error.keyword, message: worded(error), params: error.params };
    const identity = `${issue.path}\n${issue.message}`;
    if (!seen.has(identity)) issues.push(issue);
    seen.add(identity);
  }
  return issues.sort((a, b) => classOrder[issueClass(a)] - classOrder[issueClass(b)]);
}
