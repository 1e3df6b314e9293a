/** Generated from config.schema.json by `npm run generate`. Do not edit. */

export interface Config {
  /** Model of requests without one while no active model is set, as provider/model. Defaults to the demo model. */
  readonly model?: string;
  /** Models, as provider/model, that are tried in order when a turn's model fails before its first output. */
  readonly fallbacks: readonly string[];
  /**
   * Time limit in milliseconds of one answer, including retries, also of one that is passed through; 0 = no limit, the default. A provider's own setting overrides it.
   */
  readonly timeout_ms?: number;
  /**
   * Maximum silence in milliseconds of an API before a stream begins and between two pieces of an answer; 120000 when absent.
   */
  readonly idle_timeout_ms?: number;
  /**
   * Retries of a request that failed before the first byte of its answer; 2 when absent. A provider's own setting overrides it.
   */
  readonly max_retries?: number;
  /** JSON file that extends the built-in model catalogue; relative to the working directory. */
  readonly catalogue?: string;
}
