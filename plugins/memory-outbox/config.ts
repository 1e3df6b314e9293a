/** The configuration of `config.schema.json`, defaults filled in. */
export interface OutboxConfig {
  readonly worker: boolean;
  readonly batch_size: number;
  readonly concurrency: number;
  readonly max_retries: number;
  /** Seconds. */
  readonly base_backoff: number;
  readonly max_backoff: number;
  readonly lease_seconds: number;
  readonly max_age_hours: number;
  readonly timeout_seconds: number;
}
