/** Generated from config.schema.json by `npm run generate`. Do not edit. */

export interface Config {
  /** How long a claimed session outlives the last sign of life of its owner. */
  readonly claimTtlSeconds: number;
  /** How often sessions of owners that are gone are looked for. */
  readonly sweepSeconds: number;
}
