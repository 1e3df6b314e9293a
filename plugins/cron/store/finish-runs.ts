import {
  type BatchStatement,
  createTransactionGroup,
  type Dialect,
  type GroupCommit,
  jsonTexts,
  type Transaction,
} from 'mortise/sdk';
import type { CronRun, WorkflowExecution } from '../contract/index.js';
import type { CronDeps } from '../cron-deps.js';
import { effectiveRuntime } from '../read-job-spec.js';
import { timeText } from '../times.js';
import { jsonRows } from './json-rows.js';
import { lockJobs, newRunId, type RunRow } from './rows.js';
import type { StartedRun } from './start-runs.js';

type FinishDeps = Pick<CronDeps, 'database' | 'clock'>;

/** How a run ended. */
export interface RunEnd {
  readonly status: Extract<CronRun['status'], 'succeeded' | 'failed' | 'cancelled'>;
  readonly error: string | null;
  readonly result: string | null;
  readonly execution: WorkflowExecution | undefined;
}

/** The result of recording the end of a run. */
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
  const ended = await database.batch(
    runs.map((one) => endStatement(one, now)),
    { trx },
  );
  const held = runs.filter((_, index) => ended[index]?.changes === 1);
  if (held.length === 0) return runs.map(() => ({ recorded: false, failures: 0 }));
  const counts = [...Map.groupBy(held, ({ run }) => run.row.job_id)].map(([job, of]) => ({
    job,
    ...countFailures(of),
  }));
  const jobIds = counts.map(({ job }) => job);
  const locks = lockJobs(database, jobIds);
  const written = await database.batch(
    [...locks, ...jobStatements(database.dialect, held, counts), ...afterwards(deps, held, jobIds)],
    { trx },
  );
  const failures = new Map(written[locks.length]?.rows.map((row) => [row.job_id, Number(row.failures)]));
  const recorded = new Set(held);
  return runs.map((one) => ({
    recorded: recorded.has(one),
    failures: recorded.has(one) ? (failures.get(one.run.row.job_id) ?? 0) : 0,
  }));
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

interface FailureCount {
  readonly job: string;
  readonly failures: number;
  /** 1: a run succeeded or was cancelled before these failures. */
  readonly restarts: number;
}

function countFailures(ends: readonly FinishedRun[]): Omit<FailureCount, 'job'> {
  const failures = ends.length - 1 - ends.findLastIndex(({ end }) => end.status !== 'failed');
  return { failures, restarts: failures < ends.length ? 1 : 0 };
}

/** The state of a job shows the run that started last; failures of all runs count. */
function jobStatements(
  dialect: Dialect,
  held: readonly FinishedRun[],
  counts: readonly FailureCount[],
): BatchStatement[] {
  return [
    {
      sql: `update {cron.jobs} set failures = v.added + case when v.restarts = 1 then 0 else failures end
            from ${jsonRows(dialect, { job: 'text', added: 'integer', restarts: 'integer' })} v
            where job_id = v.job returning job_id, failures`,
      bindings: [JSON.stringify(counts.map(({ job, failures, restarts }) => ({ job, added: failures, restarts })))],
    },
    {
      sql: `update {cron.jobs} set last_status = case when r.status = 'succeeded' then r.status else 'failed' end,
              last_error = r.error, last_execution_json = r.execution_json
            from {cron.runs} r where r.run_id in ${jsonTexts(dialect)}
              and {cron.jobs}.job_id = r.job_id and {cron.jobs}.last_run_id = r.run_id`,
      bindings: [JSON.stringify(held.map(({ run }) => run.row.run_id))],
    },
  ];
}

const slotColumns = { job: 'text', at: 'text', outcome: 'text', reason: 'text', run: 'text' } as const;

/** Retries, the ledger, and leases, for which runs of the same jobs may have waited. */
function afterwards(
  { database: { dialect }, clock }: FinishDeps,
  held: readonly FinishedRun[],
  jobIds: readonly string[],
): BatchStatement[] {
  const retries: BatchStatement[] = [];
  const slots: object[] = [];
  for (const { run, end } of held) {
    const { row } = run;
    const retry = end.status === 'failed' ? retryOf(run, clock.now()) : undefined;
    if (retry) retries.push(queueRun(retry));
    if (row.scheduled_at === null) continue;
    slots.push({
      job: row.job_id,
      at: row.scheduled_at,
      outcome: retry ? 'queued' : end.status === 'succeeded' ? 'succeeded' : 'failed',
      reason: end.status === 'cancelled' ? 'cancelled' : null,
      run: retry?.run_id ?? row.run_id,
    });
  }
  const list = jsonTexts(dialect);
  return [
    ...retries,
    {
      sql: `update {cron.slots} set outcome = v.outcome, reason = v.reason, run_id = v.run
            from ${jsonRows(dialect, slotColumns)} v where job_id = v.job and scheduled_at = v.at`,
      bindings: [JSON.stringify(slots)],
    },
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
type QueuedRun = Pick<
  RunRow,
  'run_id' | 'job_id' | 'scheduled_at' | 'trigger' | 'attempt' | 'idempotency_key' | 'not_before' | 'queued_at'
> & {
  readonly execution_json?: string | null;
  readonly recovers?: string;
  /** The job as it was at the slot's first run; the present one when absent. */
  readonly spec_json?: string | null;
};

export function queueRun(run: QueuedRun): BatchStatement {
  return {
    sql: `insert into {cron.runs} (run_id, job_id, scheduled_at, trigger, attempt, status, idempotency_key, not_before,
            waits, queued_at, execution_json, recovers, spec_json)
          values (?, ?, ?, ?, ?, 'queued', ?, ?, ?, ?, ?, ?, ?)`,
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
      run.recovers ?? null,
      run.spec_json ?? null,
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
    spec_json: row.spec_json,
  };
}
