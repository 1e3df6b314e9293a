/** The plugin's configuration; `config.schema.json` has the defaults. */
export interface McpConfig {
  /** Tools listed first, in this order. */
  readonly order: readonly string[];
  /** Further tools to list by name, whatever their audience. */
  readonly tools: readonly string[];
  /** Tools that nobody is offered. */
  readonly disabledTools: readonly string[];
  /** Seconds; for tools that declare no limit of their own. */
  readonly toolTimeoutSeconds: number;
  /** What a client's model is told about this server. */
  readonly instructions: string;
}
