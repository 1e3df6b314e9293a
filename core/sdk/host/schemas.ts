/** One way in which a value breaks its schema. */
export interface ValueIssue {
  /** JSON Pointer into the value; the missing member's own pointer for `required`. `''` is the whole value. */
  readonly path: string;
  readonly keyword: string;
  /** Plain English, without the value. */
  readonly message: string;
  /** What the keyword asked for: `{missingProperty}`, `{type}`, `{allowedValues}`, … */
  readonly params: Readonly<Record<string, unknown>>;
}

/** A schema compiled once. */
export interface ValueSchema {
  /** Checks a value as it is: no defaults, no coercion. Missing members come first, then wrong types, then wrong values. */
  check(value: unknown): readonly ValueIssue[];
}

/** JSON Schema (draft 2020-12) for plugins that check data against the schemas of others. */
export interface SchemasService {
  /**
   * @throws MortiseError `invalid_schema` when the schema is not a valid one, is deeper than 32 levels, or refers to
   * another document.
   */
  compile(schema: Readonly<Record<string, unknown>>, options: { readonly name: string }): ValueSchema;
}
