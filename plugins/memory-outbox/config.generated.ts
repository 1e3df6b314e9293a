/** Generated from config.schema.json by `npm run generate`. Do not edit. */

export interface Config {
  /** Deliver in the server process. */
  readonly worker: boolean;
  /** Rows of one claim, or of one call of a backend that takes many. */
  readonly batch_size: number;
  /** Calls of the backend at the same time. */
  readonly concurrency: number;
  /** Failures that kill a row; an unavailable backend is none. */
  readonly max_retries: number;
  /** Seconds before the first retry; each further wait is twice as long. */
  readonly base_backoff: number;
  /** Longest wait between retries, seconds. */
  readonly max_backoff: number;
  /** How long a row is held without a sign of life. */
  readonly lease_seconds: number;
  /** Age at which a row that fails once more dies. */
  readonly max_age_hours: number;
  /** Seconds that the backend has for one call of the worker. */
  readonly timeout_seconds: number;
}
