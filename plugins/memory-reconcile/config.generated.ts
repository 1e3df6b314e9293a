/** Generated from config.schema.json by `npm run generate`. Do not edit. */

export interface Config {
  /** Interval in seconds of automatic reconciliation in the server; 0 = never. */
  readonly interval_seconds: number;
}
