import type { ErrorObject } from 'ajv';
import { allowedBy } from './allowed.js';
import type { IssueClass, JsonSchema, SchemaIssue } from './types.js';
import { isSchemaObject } from './walk.js';

/** Sorts a refused argument: a missing member beats a wrong type, which beats a wrong value. */
export function issueClass(issue: Pick<SchemaIssue, 'keyword'>): IssueClass {
  if (issue.keyword === 'required' || issue.keyword === 'dependentRequired') return 'missing';
  return issue.keyword === 'type' ? 'type' : 'value';
}

const classOrder: Readonly<Record<IssueClass, number>> = { missing: 0, type: 1, value: 2 };

function pointer(base: string, name: unknown): string {
  return `${base}/${String(name).replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

function knownNames(parent: JsonSchema): string {
  const names = isSchemaObject(parent.properties) ? Object.keys(parent.properties) : [];
  return names.length === 0 || names.length > 24 ? '' : `; known here: ${names.join(', ')}`;
}

function worded(error: ErrorObject): string {
  const parent: JsonSchema = isSchemaObject(error.parentSchema) ? error.parentSchema : {};
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
      return 'has none of the allowed forms';
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
  return missing === undefined ? error.instancePath : pointer(error.instancePath, missing);
}

/** A branch of a choice that failed says nothing about the choice: only the choice itself is reported. */
function withoutBranches(errors: readonly ErrorObject[]): readonly ErrorObject[] {
  const choices = errors.filter((error) => error.keyword === 'anyOf' || error.keyword === 'oneOf');
  if (choices.length === 0) return errors;
  const branches = choices.map((choice) => `${choice.schemaPath}/`);
  return errors.filter((error) => !branches.some((branch) => error.schemaPath.startsWith(branch)));
}

/** ajv's errors as issues: one per place and sentence, missing before type before value. */
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
