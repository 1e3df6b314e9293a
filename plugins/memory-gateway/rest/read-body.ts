import {
  type ArgumentReason,
  isJsonObject,
  MortiseError,
  type SchemasService,
  type ToolFacts,
  type ValueIssue,
  type ValueSchema,
} from 'mortise/sdk';

/** The body of a REST request, checked against the schema of its tool. */
interface ReadBody {
  readonly args: Readonly<Record<string, unknown>>;
  /** One warning for each member that the tool does not know. */
  readonly warnings: readonly string[];
}

/** A tool whose arguments are read from a body. */
export interface CheckedTool {
  readonly schema: ValueSchema;
  readonly properties: Readonly<Record<string, { readonly type?: unknown }>>;
}

/** Compiles the input schema of a tool. */
export function checkedTool(name: string, { inputSchema }: ToolFacts, schemas: SchemasService): CheckedTool {
  return {
    schema: schemas.compile(inputSchema, { name }),
    properties: (inputSchema.properties ?? {}) as CheckedTool['properties'],
  };
}

const INTEGER = /^(?:0|-?[1-9]\d{0,14})$/;

/** Forms and shell scripts send strings; a string that is exactly a boolean or an integer is converted. */
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
 * Reads the arguments of a tool from a body. A null member counts as absent.
 * @throws MortiseError `MISSING_REQUIRED_PARAM`, `INVALID_PARAM_TYPE` or `INVALID_PARAM_VALUE` (422).
 */
export function readBody(body: unknown, { schema, properties }: CheckedTool): ReadBody {
  if (!isJsonObject(body)) {
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
