/** Generated from config.schema.json by `npm run generate`. Do not edit. */

export interface Config {
  /** Tools listed first, in this order. The others follow, sorted by plugin and name. */
  readonly order: readonly string[];
  /** Additional tools to list, by name, including tools that are for agents only. */
  readonly tools: readonly string[];
  /** Tools that are neither listed nor callable, regardless of other settings. */
  readonly disabledTools: readonly string[];
  /** Time limit in seconds of tools that declare none. */
  readonly toolTimeoutSeconds: number;
  /** Instructions sent to clients for their model. */
  readonly instructions: string;
}
