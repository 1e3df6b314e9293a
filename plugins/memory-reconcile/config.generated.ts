/** Generated from config.schema.json by `npm run generate`. Do not edit. */

export interface Config {
  /** How often a server reconciles by itself; 0: never. */
  readonly interval_seconds: number;
}
