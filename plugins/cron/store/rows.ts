import { randomBytes } from 'node:crypto';
import {
  type BatchStatement,
  type Database,
  type JsonObject,
  jsonTexts,
  maskDeep,
  type Principal,
  redactSecrets,
} from 'mortise/sdk';
import type {
  CronJobSpec,
  CronJobState,
  CronRun,
  CronSlot,
  NodeExecution,
  WorkflowExecution,
} from '../contract/index.js';
import { shownTime } from '../times.js';

export interface JobRow {
  readonly job_id: string;
  readonly name: string;
  readonly enabled: unknown;
  readonly paused: unknown;
  readonly owner_json: string;
  readonly user_id: string;
  readonly spec_json: string;
  readonly epoch: number;
  readonly epoch_from: string | null;
  readonly next_run_at: string | null;
  readonly rev: number;
  readonly failures: number;
  readonly last_run_at: string | null;
  readonly last_run_id: string | null;
  readonly last_status: CronJobState['last_status'] | null;
  readonly last_error: string | null;
  readonly last_execution_json: string | null;
}

/** Locks the rows of jobs until the transaction ends, in the order in which every process locks them. */
export function lockJobs({ dialect }: Pick<Database, 'dialect'>, jobIds: readonly string[]): BatchStatement[] {
  if (dialect === 'sqlite' || jobIds.length === 0) return [];
  return [
    {
      sql: `select 1 from {cron.jobs} where job_id in ${jsonTexts(dialect)} order by job_id for update`,
      bindings: [JSON.stringify(jobIds)],
    },
  ];
}

/** A job as it is stored. */
export interface Job {
  readonly id: string;
  readonly enabled: boolean;
  readonly paused: boolean;
  /** Its runs work for this principal. */
  readonly owner: Principal;
  readonly spec: CronJobSpec;
  readonly epoch: number;
  /** When the open epoch began, epoch milliseconds; null outside of an epoch. */
  readonly epochFrom: number | null;
  readonly nextRunAt: number | null;
  readonly rev: number;
  readonly state: CronJobState;
}

export function jobOf(row: JobRow, codec: Database['codec']): Job {
  return {
    id: row.job_id,
    enabled: codec.parseFlag(row.enabled),
    paused: codec.parseFlag(row.paused),
    owner: JSON.parse(row.owner_json) as Principal,
    spec: JSON.parse(row.spec_json) as CronJobSpec,
    epoch: row.epoch,
    epochFrom: row.epoch_from === null ? null : Date.parse(row.epoch_from),
    nextRunAt: row.next_run_at === null ? null : Date.parse(row.next_run_at),
    rev: row.rev,
    state: {
      ...(row.next_run_at === null ? {} : { next_run_at: row.next_run_at }),
      ...(row.last_run_at === null ? {} : { last_run_at: shownTime(row.last_run_at) }),
      ...(row.last_status === null ? {} : { last_status: row.last_status }),
      ...(row.last_error === null ? {} : { last_error: row.last_error }),
      paused: codec.parseFlag(row.paused),
      ...(row.last_execution_json === null ? {} : { last_execution: shownExecution(row.last_execution_json) }),
    },
  };
}

export interface RunRow {
  readonly run_id: string;
  readonly job_id: string;
  readonly scheduled_at: string | null;
  readonly trigger: CronRun['trigger'];
  readonly attempt: number;
  readonly status: CronRun['status'];
  readonly error: string | null;
  readonly result: string | null;
  readonly idempotency_key: string;
  readonly not_before: string;
  readonly waits: unknown;
  readonly queued_at: string;
  readonly started_at: string | null;
  readonly effect_at: string | null;
  readonly finished_at: string | null;
  readonly lease_id: string | null;
  readonly owner: string | null;
  readonly cancel_reason: string | null;
  readonly correlation_id: string | null;
  readonly spec_json: string | null;
  readonly execution_json: string | null;
  readonly recovers: string | null;
  readonly recovered_as: string | null;
}

/** A run as the API answers it. */
export function runOf(row: RunRow): CronRun {
  const { started_at: started, finished_at: finished } = row;
  return {
    run_id: row.run_id,
    job_id: row.job_id,
    trigger: row.trigger,
    scheduled_at: row.scheduled_at,
    attempt: row.attempt,
    status: row.status,
    error: row.error,
    queued_at: shownTime(row.queued_at),
    started_at: shownTime(started),
    finished_at: shownTime(finished),
    duration_ms: started === null || finished === null ? null : Date.parse(finished) - Date.parse(started),
    owner: row.owner,
    correlation_id: row.correlation_id,
    ...(row.recovers === null ? {} : { recovers: row.recovers }),
    ...(row.recovered_as === null ? {} : { recovered_as: row.recovered_as }),
    ...(row.result === null ? {} : { result: row.result }),
    ...(row.execution_json === null ? {} : { execution: shownExecution(row.execution_json) }),
  };
}

function shownExecution(json: string): WorkflowExecution {
  const execution = JSON.parse(json) as WorkflowExecution;
  return { ...execution, ...shownSpan(execution), nodes: execution.nodes.map(shownNode) };
}

/** A node's record as the API answers it: a server's response may contain secrets that later nodes use. */
export function shownNode(node: NodeExecution): NodeExecution {
  const { output, result, error } = node;
  return {
    ...node,
    ...shownSpan(node),
    ...(error === undefined ? {} : { error: redactSecrets(error) }),
    ...(result === undefined ? {} : { result: redactSecrets(result) }),
    ...(output === undefined ? {} : { output: maskDeep(output) as JsonObject }),
  };
}

function shownSpan<Span extends { readonly started_at?: string; readonly finished_at?: string }>({
  started_at: started,
  finished_at: finished,
}: Span) {
  return {
    ...(started === undefined ? {} : { started_at: shownTime(started) }),
    ...(finished === undefined ? {} : { finished_at: shownTime(finished) }),
  };
}

export interface SlotRow extends CronSlot {
  readonly epoch: number;
  readonly claimed_by: string;
}

/** A slot as the API answers it. */
export function slotOf(row: SlotRow): CronSlot {
  const { job_id, scheduled_at, through_at, slot_count, outcome, reason, run_id, attempts } = row;
  const decided_at = shownTime(row.decided_at);
  return { job_id, scheduled_at, through_at, slot_count, outcome, reason, run_id, attempts, decided_at };
}

export function newRunId(): string {
  return `run-${newLeaseId()}`;
}

export function newLeaseId(): string {
  return `${process.pid}-${randomBytes(6).toString('hex')}`;
}

export function newCorrelationId(): string {
  return `corr-${randomBytes(8).toString('hex')}`;
}
