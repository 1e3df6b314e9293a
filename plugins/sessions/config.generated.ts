/** Generated from config.schema.json by `npm run generate`. Do not edit. */

export interface Config {
  /** TTL of a claim without a renewal by its owner. */
  readonly claimTtlSeconds: number;
  /** How often sessions of dead owners are released. */
  readonly sweepSeconds: number;
}
