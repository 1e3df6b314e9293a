import type { SchemasService, ValueIssue } from 'mortise/sdk';
import { type Reason, RpcFailure, shown } from '../wire/failure.js';
import { isObject, type JsonObject, member } from '../wire/json.js';
import { type ParameterHeader, parameterHeaders } from '../wire/parameter-headers.js';

/** At most this many faults are told of one call. */
const mostErrors = 10;

/** The arguments of a call do not fit the schema of its tool. */
export class ArgumentFailure extends RpcFailure {}

type Explain = ((errors: readonly ValueIssue[]) => string | undefined) | undefined;

/** A tool's input schema, ready for use. */
export interface ArgumentSchema {
  readonly parameterHeaders: readonly ParameterHeader[];
  /**
   * Top-level names the schema does not know, and the arguments the tool gets: without them when the schema forbids
   * them, as they are otherwise.
   */
  split(args: JsonObject): { readonly args: JsonObject; readonly unknown: readonly string[] };
  /** @throws ArgumentFailure telling what is wrong with which argument. */
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

/** Undefined where the schema's own words do not say which names there are. */
function knownNames(schema: JsonObject): ReadonlySet<string> | undefined {
  const open = ['allOf', 'anyOf', 'oneOf', '$ref', 'if', 'patternProperties', 'dependentSchemas'];
  if (open.some((keyword) => Object.hasOwn(schema, keyword))) return undefined;
  const extra = member(schema, 'additionalProperties');
  if (extra !== undefined && extra !== false) return undefined;
  const properties = member(schema, 'properties');
  return new Set(isObject(properties) ? Object.keys(properties) : []);
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
        .slice(0, mostErrors)
        .map((issue) => ({ path: issue.path, reason: reasonOf(issue), message: issue.message })),
    },
  });
}

function reasonOf(issue: ValueIssue): Reason {
  if (issue.keyword === 'required') return 'MISSING_REQUIRED_PARAM';
  return issue.keyword === 'type' ? 'INVALID_PARAM_TYPE' : 'INVALID_PARAM_VALUE';
}

/** A missing argument is told before a wrong type, and that before a wrong value. */
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
