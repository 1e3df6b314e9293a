import { isJsonObject, type JsonObject, type SchemasService, type ValueIssue } from 'mortise/sdk';
import { type Reason, RpcFailure, shown } from '../wire/failure.js';
import { member } from '../wire/params.js';
import { type ParameterHeader, parameterHeaders } from '../wire/stateless-headers.js';

/** Issues reported for one call. */
const maxErrors = 10;

/** The arguments of a call do not match the schema of its tool. */
export class ArgumentFailure extends RpcFailure {}

type Explain = ((errors: readonly ValueIssue[]) => string | undefined) | undefined;

/** A compiled input schema of a tool. */
export interface ArgumentSchema {
  readonly parameterHeaders: readonly ParameterHeader[];
  /**
   * Separates the top-level names that the schema does not have. The tool gets the arguments without them when the
   * schema forbids additional properties, otherwise unchanged.
   */
  split(args: JsonObject): { readonly args: JsonObject; readonly unknown: readonly string[] };
  /** @throws ArgumentFailure naming the arguments and their faults. */
  check(args: JsonObject, explain?: Explain): void;
}

/** @throws MortiseError `invalid_schema`. */
export function compileArguments(schemas: SchemasService, tool: string, schema: JsonObject): ArgumentSchema {
  const compiled = schemas.compile(schema, { name: `arguments of tool ${tool}` });
  const known = knownNames(schema);
  const strict = member(schema, 'additionalProperties') === false;
  return {
    parameterHeaders: parameterHeaders(schema),
    split(args) {
      if (known === undefined) return { args, unknown: [] };
      const unknown = Object.keys(args).filter((name) => !known.has(name));
      if (unknown.length === 0 || !strict) return { args, unknown };
      return { args: Object.fromEntries(Object.entries(args).filter(([name]) => known.has(name))), unknown };
    },
    check(args, explain) {
      const issues = compiled.check(args);
      if (issues.length > 0) throw failureOfIssues(tool, issues, explain);
    },
  };
}

/** Undefined for a schema whose names cannot be read from its `properties` alone. */
function knownNames(schema: JsonObject): ReadonlySet<string> | undefined {
  const open = ['allOf', 'anyOf', 'oneOf', '$ref', 'if', 'patternProperties', 'dependentSchemas'];
  if (open.some((keyword) => Object.hasOwn(schema, keyword))) return undefined;
  const extra = member(schema, 'additionalProperties');
  if (extra !== undefined && extra !== false) return undefined;
  const properties = member(schema, 'properties');
  return new Set(isJsonObject(properties) ? Object.keys(properties) : []);
}

function failureOfIssues(tool: string, issues: readonly ValueIssue[], explain: Explain): ArgumentFailure {
  const ranked = [...issues].sort((a, b) => rank(a) - rank(b));
  const first = ranked[0] as ValueIssue;
  const message = explain?.(ranked) ?? `Argument ${first.path || '/'} of tool "${shown(tool)}": ${sentence(first)}`;
  return new ArgumentFailure(reasonOf(first), message, {
    details: {
      tool: shown(tool),
      path: first.path,
      expected: expectation(first),
      errors: ranked
        .slice(0, maxErrors)
        .map((issue) => ({ path: issue.path, reason: reasonOf(issue), message: issue.message })),
    },
  });
}

function reasonOf(issue: ValueIssue): Reason {
  if (issue.keyword === 'required') return 'MISSING_REQUIRED_PARAM';
  return issue.keyword === 'type' ? 'INVALID_PARAM_TYPE' : 'INVALID_PARAM_VALUE';
}

/** Reports a missing argument before a wrong type, and a wrong type before a wrong value. */
function rank(issue: ValueIssue): number {
  return issue.keyword === 'required' ? 0 : issue.keyword === 'type' ? 1 : 2;
}

function sentence(issue: ValueIssue): string {
  return issue.message.endsWith('.') ? issue.message : `${issue.message}.`;
}

function expectation(issue: ValueIssue): unknown {
  if (issue.keyword === 'required') return 'a value';
  return issue.params.type ?? issue.params.allowedValues ?? issue.message;
}
