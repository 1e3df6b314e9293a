/** Generated from config.schema.json by `npm run generate`. Do not edit. */

export interface Config {
  /** Runs the delivery worker in the server process. */
  readonly worker: boolean;
  /** Maximum number of rows in one claim, or in one call to a backend that accepts batches. */
  readonly batch_size: number;
  /** Maximum number of concurrent calls to the backend. */
  readonly concurrency: number;
  /** Failures before a row becomes a dead letter. An unavailable backend does not count as a failure. */
  readonly max_retries: number;
  /** Delay before the first retry in seconds, doubled for each further retry. */
  readonly base_backoff: number;
  /** Maximum delay between retries in seconds. */
  readonly max_backoff: number;
  /** Lease of a claimed row in seconds, counted from its last renewal. */
  readonly lease_seconds: number;
  /** Age in hours after which the next failure makes a row a dead letter. */
  readonly max_age_hours: number;
  /** Time limit in seconds of one call from the worker to the backend. */
  readonly timeout_seconds: number;
}
