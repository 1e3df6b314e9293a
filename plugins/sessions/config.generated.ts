/** Generated from config.schema.json by `npm run generate`. Do not edit. */

export interface Config {
  /** Lease of a claimed session in seconds, counted from its owner's last renewal. */
  readonly claimTtlSeconds: number;
  /** Interval in seconds of the sweep for sessions whose owner is gone. */
  readonly sweepSeconds: number;
}
