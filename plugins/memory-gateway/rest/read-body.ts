import { MortiseError, type SchemasService, type ToolFacts, type ValueIssue, type ValueSchema } from 'mortise/sdk';
import type { ArgumentReason } from '../argument-error.js';

/** The body of a REST request, checked against the schema of the tool it stands for. */
export interface ReadBody {
  readonly args: Readonly<Record<string, unknown>>;
  /** Members that the tool does not know, as warnings. */
  readonly warnings: readonly string[];
}

/** A tool whose arguments are read from a body. */
export interface CheckedTool {
  readonly schema: ValueSchema;
  readonly properties: Readonly<Record<string, { readonly type?: unknown }>>;
}

/** The tool as its facts tell. */
export function checkedTool(name: string, { inputSchema }: ToolFacts, schemas: SchemasService): CheckedTool {
  return {
    schema: schemas.compile(inputSchema, { name }),
    properties: (inputSchema.properties ?? {}) as CheckedTool['properties'],
  };
}

const INTEGER = /^(?:0|-?[1-9]\d{0,14})$/;

/** Forms and shell scripts send texts: one that spells a boolean or an integer exactly is taken for it. */
function coerce(value: unknown, type: unknown): unknown {
  if (typeof value !== 'string') return value;
  if (type === 'boolean' && (value === 'true' || value === 'false')) return value === 'true';
  return type === 'integer' && INTEGER.test(value) ? Number(value) : value;
}

function reasonOf({ keyword }: ValueIssue): ArgumentReason {
  if (keyword === 'required') return 'MISSING_REQUIRED_PARAM';
  return keyword === 'type' ? 'INVALID_PARAM_TYPE' : 'INVALID_PARAM_VALUE';
}

function invalidBody(
  issues: readonly { readonly path: string; readonly reason: ArgumentReason; readonly message: string }[],
) {
  const [first] = issues;
  return new MortiseError(
    first?.reason ?? 'INVALID_PARAM_VALUE',
    `${first?.path.slice(1) || 'The body'} ${first?.message ?? 'is not valid'}.`,
    {
      status: 422,
      details: { category: 'validation', errors: issues },
    },
  );
}

/**
 * Reads a body; null stands for an absent member.
 * @throws MortiseError `MISSING_REQUIRED_PARAM`, `INVALID_PARAM_TYPE` or `INVALID_PARAM_VALUE` (422).
 */
export function readBody(body: unknown, { schema, properties }: CheckedTool): ReadBody {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw invalidBody([{ path: '', reason: 'INVALID_PARAM_TYPE', message: 'must be a JSON object' }]);
  }
  const given = Object.entries(body).filter(([, value]) => value !== null);
  const known = given.filter(([name]) => Object.hasOwn(properties, name));
  const unknown = given.filter(([name]) => !Object.hasOwn(properties, name));
  const args = Object.fromEntries(known.map(([name, value]) => [name, coerce(value, properties[name]?.type)]));
  const issues = schema.check(args);
  if (issues.length > 0) {
    throw invalidBody(
      issues.slice(0, 10).map((issue) => ({ path: issue.path, reason: reasonOf(issue), message: issue.message })),
    );
  }
  return { args, warnings: unknown.map(([name]) => `unknown member: ${name.slice(0, 64)}`) };
}
