/** One violation of a schema. */
export interface SchemaIssue {
  /** JSON Pointer into the value; for `required` that of the missing member. `''` is the whole value. */
  readonly path: string;
  readonly keyword: string;
  /** Plain English, without the value: `must be a whole number from 1 to 50`. */
  readonly message: string;
  /** The parameters of the keyword, as ajv reports them: `{missingProperty}`, `{type}`, `{allowedValues}`, … */
  readonly params: Readonly<Record<string, unknown>>;
}

export type SchemaResult<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly errors: readonly SchemaIssue[] };

/** A schema compiled once. */
export interface CompiledSchema<T = unknown> {
  readonly name: string;
  readonly schema: JsonSchema;
  /** Clones the value, fills in defaults, checks, and freezes the clone deeply. The given value is never changed. */
  parse(value: unknown): SchemaResult<T>;
  /** Checks the value without defaults, coercion or cloning. Empty when valid. */
  check(value: unknown): readonly SchemaIssue[];
}

export type JsonSchema = Readonly<Record<string, unknown>>;

export interface CompileOptions {
  /** For messages about a bad schema: `config.schema.json of plugin kb`. */
  readonly name: string;
  /** The use compiled immediately, which throws for an invalid schema; the other on first use. Default `check`. */
  readonly use?: 'parse' | 'check';
  /** The schema comes from another system: unknown keywords and formats are ignored instead of refused. */
  readonly foreign?: boolean;
}

/** Compiles schemas (draft 2020-12) of one owner; two owners may use the same `$id`. */
export interface SchemaCompiler {
  /**
   * @throws MortiseError `invalid_schema` when the schema is not a valid one, is deeper than 32 levels, or refers to
   * another document.
   */
  compile<T = unknown>(schema: JsonSchema, options: CompileOptions): CompiledSchema<T>;
}

/** Classes of a refused argument, in order of precedence. */
export type IssueClass = 'missing' | 'type' | 'value';
