/** One violation of a schema. */
export interface ValueIssue {
  /** JSON Pointer into the value; for `required`, the pointer of the missing member. `''` is the whole value. */
  readonly path: string;
  readonly keyword: string;
  /** Plain English, without the value. */
  readonly message: string;
  /** Parameters of the keyword: `{missingProperty}`, `{type}`, `{allowedValues}`, … */
  readonly params: Readonly<Record<string, unknown>>;
}

/** A schema compiled once. */
export interface ValueSchema {
  /** Validates a value without defaults or coercion. Missing members come first, then wrong types, then wrong values. */
  check(value: unknown): readonly ValueIssue[];
}

/** JSON Schema (draft 2020-12) for plugins that validate data against schemas of other plugins. */
export interface SchemasService {
  /**
   * @throws MortiseError `invalid_schema` when the schema is invalid, is deeper than 32 levels, or refers to
   * another document.
   */
  compile(schema: Readonly<Record<string, unknown>>, options: { readonly name: string }): ValueSchema;
}
