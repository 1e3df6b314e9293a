/** Generated from config.schema.json by `npm run generate`. Do not edit. */

export interface Config {
  /**
   * Claims slots and executes runs in this process. When off, the API works and manual runs are executed by other processes.
   */
  readonly enabled: boolean;
  /** Maximum number of concurrent runs in this process. */
  readonly max_runs: number;
  /**
   * Lease of a running run in seconds, renewed every third of it. The runs of a dead process are recovered after it at the latest.
   */
  readonly lease_seconds: number;
  /** Days after which runs are deleted. The newest 100 runs of a job are kept. */
  readonly run_retention_days: number;
  /** Days after which rows of the slot ledger are deleted. */
  readonly slot_retention_days: number;
  /** Consecutive failures of a job that raise an alert, which is repeated whenever their number has doubled. */
  readonly alert_after_failures: number;
}
