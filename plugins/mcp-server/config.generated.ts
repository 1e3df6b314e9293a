/** Generated from config.schema.json by `npm run generate`. Do not edit. */

export interface Config {
  /** Tools listed first, in this order. The others follow by plugin and name. */
  readonly order: readonly string[];
  /** Further tools to list by name, also those meant for agents only. */
  readonly tools: readonly string[];
  /** Tools that are neither listed nor callable, regardless of other settings. */
  readonly disabledTools: readonly string[];
  /** Seconds a tool may take when it declares no limit of its own. */
  readonly toolTimeoutSeconds: number;
  /** Instructions for the model of a client. */
  readonly instructions: string;
}
