/** The configuration of `config.schema.json`, defaults filled in. */
export interface ReconcileConfig {
  /** Seconds; 0: never. */
  readonly interval_seconds: number;
}
