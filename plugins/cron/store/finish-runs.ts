import {
  type BatchStatement,
  createTransactionGroup,
  type GroupCommit,
  jsonTexts,
  type Transaction,
} from 'mortise/sdk';
import type { CronRun, WorkflowExecution } from '../contract/index.js';
import type { CronDeps } from '../cron-deps.js';
import { effectiveRuntime } from '../read-job-spec.js';
import { timeText } from '../times.js';
import { newRunId, type RunRow } from './rows.js';
import type { StartedRun } from './start-runs.js';

type FinishDeps = Pick<CronDeps, 'database' | 'clock'>;

/** How a run ended. */
export interface RunEnd {
  readonly status: Extract<CronRun['status'], 'succeeded' | 'failed' | 'cancelled'>;
  readonly error: string | null;
  readonly result: string | null;
  readonly execution: WorkflowExecution | undefined;
}

/** What became of the end of a run. */
export interface Finished {
  /** False: another process has taken the run over, and nothing was written. */
  readonly recorded: boolean;
  /** Consecutive failures of the job. */
  readonly failures: number;
}

export interface FinishedRun {
  readonly run: StartedRun;
  readonly end: RunEnd;
}

const maxBackoffSeconds = 3_600;

/** Records ends of runs; those that end at the same time share a commit. */
export function finishing(deps: FinishDeps): GroupCommit<FinishedRun, Finished> {
  const { database } = deps;
  return createTransactionGroup<FinishedRun, Finished>(database, (runs, trx) => finishRuns(deps, runs, trx), {
    retries: (error) => database.codec.errorKind(error) === 'busy',
  });
}

async function finishRuns(
  deps: FinishDeps,
  runs: readonly FinishedRun[],
  trx: Transaction,
): Promise<readonly Finished[]> {
  const { database, clock } = deps;
  const now = clock.now();
  // Every process locks the rows of jobs in the same order.
  const ordered = [...runs].sort((a, b) => (a.run.row.job_id < b.run.row.job_id ? -1 : 1));
  const ended = await database.batch(
    ordered.map((one) => endStatement(one, now)),
    { trx },
  );
  const held = ordered.filter((_, index) => ended[index]?.changes === 1);
  const outcomes = new Map<FinishedRun, Finished>();
  const results = await database.batch(held.map(jobStatement), { trx });
  for (const [index, one] of held.entries()) {
    outcomes.set(one, { recorded: true, failures: Number(results[index]?.rows[0]?.failures ?? 0) });
  }
  await database.batch([...releaseStatements(deps, held), ...held.flatMap((one) => afterwards(one, now))], { trx });
  return runs.map((one) => outcomes.get(one) ?? { recorded: false, failures: 0 });
}

/** Fenced by the lease: a run that was taken over is not changed. */
function endStatement({ run, end }: FinishedRun, now: number): BatchStatement {
  const execution = end.execution === undefined ? null : JSON.stringify(end.execution);
  return {
    sql: `update {cron.runs} set status = ?, error = ?, result = ?, execution_json = ?, finished_at = ?
          where run_id = ? and lease_id = ? and status = 'running'`,
    bindings: [end.status, end.error, end.result, execution, timeText(now), run.row.run_id, run.leaseId],
  };
}

/** The state of a job shows the run that started last; failures count whatever run they are of. */
function jobStatement({ run, end }: FinishedRun): BatchStatement {
  const isFailure = end.status === 'failed';
  const shows = 'case when last_run_id = ? then ? else';
  const execution = end.execution === undefined ? null : JSON.stringify(end.execution);
  const id = run.row.run_id;
  return {
    sql: `update {cron.jobs} set failures = ${isFailure ? 'failures + 1' : '0'},
            last_status = ${shows} last_status end, last_error = ${shows} last_error end,
            last_execution_json = ${shows} last_execution_json end
          where job_id = ? returning failures`,
    bindings: [
      id,
      isFailure || end.status === 'cancelled' ? 'failed' : 'succeeded',
      id,
      end.error,
      id,
      execution,
      run.row.job_id,
    ],
  };
}

function afterwards({ run, end }: FinishedRun, now: number): BatchStatement[] {
  const { row } = run;
  const retry = end.status === 'failed' ? retryOf(run, now) : undefined;
  const statements: BatchStatement[] = [];
  if (retry) statements.push(queueRun(retry));
  if (row.scheduled_at !== null) {
    const outcome = retry ? 'queued' : end.status === 'succeeded' ? 'succeeded' : 'failed';
    statements.push({
      sql: 'update {cron.slots} set outcome = ?, reason = ?, run_id = ? where job_id = ? and scheduled_at = ?',
      bindings: [
        outcome,
        end.status === 'cancelled' ? 'cancelled' : null,
        retry?.run_id ?? row.run_id,
        row.job_id,
        row.scheduled_at,
      ],
    });
  }
  return statements;
}

/** Releases leases; runs of the same jobs that waited for one may try again. One statement for all runs. */
function releaseStatements({ database }: FinishDeps, held: readonly FinishedRun[]): BatchStatement[] {
  if (held.length === 0) return [];
  const list = jsonTexts(database.dialect);
  const jobIds = [...new Set(held.map(({ run }) => run.row.job_id))];
  return [
    {
      sql: `delete from {cron.leases} where lease_id in ${list}`,
      bindings: [JSON.stringify(held.map(({ run }) => run.leaseId))],
    },
    {
      sql: `update {cron.runs} set waits = ? where status = 'queued' and waits and job_id in ${list}`,
      bindings: [false, JSON.stringify(jobIds)],
    },
  ];
}

/** Runs of a job that waited for a lease may try again. */
export function releaseWaiting(jobId: string): BatchStatement {
  return {
    sql: "update {cron.runs} set waits = ? where job_id = ? and status = 'queued' and waits",
    bindings: [false, jobId],
  };
}

/** Members of a new run. */
export type QueuedRun = Pick<
  RunRow,
  'run_id' | 'job_id' | 'scheduled_at' | 'trigger' | 'attempt' | 'idempotency_key' | 'not_before' | 'queued_at'
> & { readonly execution_json?: string | null };

export function queueRun(run: QueuedRun): BatchStatement {
  return {
    sql: `insert into {cron.runs} (run_id, job_id, scheduled_at, trigger, attempt, status, idempotency_key, not_before,
            waits, queued_at, execution_json) values (?, ?, ?, ?, ?, 'queued', ?, ?, ?, ?, ?)`,
    bindings: [
      run.run_id,
      run.job_id,
      run.scheduled_at,
      run.trigger,
      run.attempt,
      run.idempotency_key,
      run.not_before,
      false,
      run.queued_at,
      run.execution_json ?? null,
    ],
  };
}

function retryOf({ row, spec }: StartedRun, now: number): QueuedRun | undefined {
  const { maxAttempts, backoffSeconds } = effectiveRuntime(spec.runtime);
  if (row.attempt >= maxAttempts || row.trigger === 'manual') return undefined;
  const waitSeconds = Math.min(maxBackoffSeconds, backoffSeconds * 2 ** (row.attempt - 1));
  return {
    run_id: newRunId(),
    job_id: row.job_id,
    scheduled_at: row.scheduled_at,
    trigger: 'retry',
    attempt: row.attempt + 1,
    idempotency_key: row.idempotency_key,
    not_before: timeText(now + waitSeconds * 1_000),
    queued_at: timeText(now),
  };
}
