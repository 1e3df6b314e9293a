import type { JsonObject } from 'mortise/sdk';
import type { CronWorkflow, WorkflowExecution } from './workflow.js';

export interface CronSchedule {
  readonly type: 'interval' | 'cron';
  /** An interval (`90`, `1h30m`) or a cron expression. */
  readonly cron: string;
  /** IANA name. A `TZ=` prefix of the expression takes precedence. */
  readonly timezone: string;
  /** A local time that does not exist: no slot (default), or the first instant after the gap. */
  readonly dst_gap?: 'skip' | 'shift';
  /** A local time that exists twice; `auto` (default) takes both when the hour field has all 24 hours, else the first. */
  readonly dst_overlap?: 'auto' | 'first' | 'both';
}

export interface CronDispatch {
  readonly type: string;
  /** Name of a channel; `console` runs an agent turn. */
  readonly channel: string;
  readonly target: { readonly user_id: string; readonly session_id: string };
  /** `agent` and `raw` have an effect. */
  readonly mode: string;
  readonly meta: JsonObject;
}

export interface CronRuntime {
  /** As sent; 0 and less mean 1. */
  readonly max_concurrency: number;
  /** Seconds, as sent; 0 and less mean 30. */
  readonly timeout_seconds: number;
  /** Seconds; 0 and less: lateness alone never skips a slot. */
  readonly misfire_grace_seconds: number;
  /** Which of several missed slots run; `run_once` when absent. */
  readonly misfire_policy?: 'run_once' | 'skip' | 'run_all';
  /** Seconds; slots that are older are skipped. 0: no limit. */
  readonly misfire_window_seconds?: number;
  /** What happens to a slot while all leases of the job are taken; `reject` when absent. */
  readonly overlap_policy?: 'reject' | 'queue';
  /** What happens to a run whose process died; `safe` when absent. */
  readonly on_interrupt?: 'safe' | 'retry' | 'fail';
  /** 1 to 10. */
  readonly max_attempts?: number;
  /** Seconds before the second attempt, doubled for each further one; 10 when absent. */
  readonly retry_backoff_seconds?: number;
}

/** A job as the API answers it. */
export interface CronJobSpec {
  readonly id: string;
  readonly name: string;
  readonly enabled: boolean;
  readonly schedule: CronSchedule;
  readonly task_type: 'text' | 'workflow';
  readonly text?: string;
  readonly workflow?: CronWorkflow;
  readonly request?: JsonObject;
  readonly dispatch: CronDispatch;
  readonly runtime: CronRuntime;
  readonly meta: JsonObject;
}

export interface CronJobState {
  readonly next_run_at?: string;
  readonly last_run_at?: string;
  readonly last_status?: 'paused' | 'resumed' | 'running' | 'succeeded' | 'failed';
  readonly last_error?: string;
  readonly paused: boolean;
  readonly last_execution?: WorkflowExecution;
}

export type CronTrigger = 'schedule' | 'manual' | 'retry' | 'recovery';
export type CronRunStatus = 'queued' | 'running' | 'succeeded' | 'failed' | 'cancelled' | 'interrupted';

/** One attempt to execute a job. */
export interface CronRun {
  readonly run_id: string;
  readonly job_id: string;
  readonly trigger: CronTrigger;
  /** The slot; null for manual runs. */
  readonly scheduled_at: string | null;
  readonly attempt: number;
  readonly status: CronRunStatus;
  readonly error: string | null;
  readonly queued_at: string;
  readonly started_at: string | null;
  readonly finished_at: string | null;
  readonly duration_ms: number | null;
  /** Id of the process that started it. */
  readonly owner: string | null;
  readonly correlation_id: string | null;
  /** Id of the interrupted run that this one continues. */
  readonly recovers?: string;
  /** Id of the run that continues this one, which was interrupted. */
  readonly recovered_as?: string;
  /** The reply of a text task, if any; at most 500 code points. */
  readonly result?: string;
  readonly execution?: WorkflowExecution;
}

/** A row of the ledger: the outcome of a slot, or of adjacent slots that were skipped for the same reason. */
export interface CronSlot {
  readonly job_id: string;
  readonly scheduled_at: string;
  readonly through_at: string;
  /** Counted up to 100,000; null beyond. */
  readonly slot_count: number | null;
  readonly outcome: 'queued' | 'running' | 'succeeded' | 'failed' | 'skipped';
  readonly reason: string | null;
  readonly run_id: string | null;
  readonly attempts: number;
  readonly decided_at: string;
}
