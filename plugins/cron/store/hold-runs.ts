import { type BatchStatement, createTransactionGroup, type Dialect, type GroupCommit, jsonTexts } from 'mortise/sdk';
import type { WorkflowExecution } from '../contract/index.js';
import type { CronDeps } from '../cron-deps.js';
import { timeText } from '../times.js';
import type { StartedRun } from './start-runs.js';

type HoldDeps = Pick<CronDeps, 'database' | 'clock' | 'leaseMs' | 'instances'>;

/** Whether a run that this process holds was cancelled elsewhere, and why. */
interface Renewed {
  readonly runId: string;
  readonly cancelReason: string | null;
}

/** Renews the leases of runs. A run that is missing in the result was taken over. */
export async function renewLeases(deps: HoldDeps, leaseIds: readonly string[]): Promise<readonly Renewed[]> {
  const { database, clock, leaseMs } = deps;
  const ids = JSON.stringify(leaseIds);
  const list = jsonTexts(database.dialect);
  await database.statement(`update {cron.leases} set expires_at = ? where lease_id in ${list}`, [
    timeText(clock.now() + leaseMs),
    ids,
  ]);
  const { rows } = await database.statement<{ run_id: string; cancel_reason: string | null }>(
    `select r.run_id, r.cancel_reason from {cron.runs} r join {cron.leases} l on l.lease_id = r.lease_id
     where r.lease_id in ${list} and r.status = 'running'`,
    [ids],
  );
  return rows.map(({ run_id, cancel_reason }) => ({ runId: run_id, cancelReason: cancel_reason }));
}

/** Lets the leases of this process expire, so that its unfinished runs are recovered immediately. */
export async function expireLeases({ database, clock }: HoldDeps, leaseIds: readonly string[]): Promise<void> {
  await database.statement(`update {cron.leases} set expires_at = ? where lease_id in ${jsonTexts(database.dialect)}`, [
    timeText(clock.now()),
    JSON.stringify(leaseIds),
  ]);
}

/** The progress of a run. */
export interface Progress {
  readonly run: StartedRun;
  /** An effect is about to begin. */
  readonly effect: boolean;
  readonly execution: WorkflowExecution | undefined;
}

/**
 * Records that effects of runs begin, and the progress of their workflows; concurrent records share a commit. Fenced
 * by the lease: false when the run was taken over or cancelled, and its effect must not begin.
 */
export function progressing(deps: HoldDeps): GroupCommit<Progress, boolean> {
  const { database, clock } = deps;
  return createTransactionGroup<Progress, boolean>(
    database,
    async (steps, trx) => {
      const now = timeText(clock.now());
      const texts = steps.filter(({ effect, execution }) => effect && execution === undefined);
      const others = steps.filter((step) => !texts.includes(step));
      const [begun, ...recorded] = await database.batch(
        [beginStatement(database.dialect, texts, now), ...others.map((step) => progressStatement(step, now))],
        { trx },
      );
      const held = new Set(begun?.rows.map(({ lease_id }) => lease_id));
      const isRecorded = new Map(others.map((step, index) => [step, recorded[index]?.changes === 1]));
      return steps.map((step) => isRecorded.get(step) ?? held.has(step.run.leaseId));
    },
    { retries: (error) => database.codec.errorKind(error) === 'busy' },
  );
}

/** The effects of text tasks begin: one statement for all of them. */
function beginStatement(dialect: Dialect, steps: readonly Progress[], now: string): BatchStatement {
  return {
    sql: `update {cron.runs} set effect_at = ? where lease_id in ${jsonTexts(dialect)} and status = 'running'
       and cancel_reason is null and exists
         (select 1 from {cron.leases} l where l.lease_id = {cron.runs}.lease_id and l.expires_at > ?)
       returning lease_id`,
    bindings: [now, JSON.stringify(steps.map(({ run }) => run.leaseId)), now],
  };
}

function progressStatement({ run, effect, execution }: Progress, now: string): BatchStatement {
  const { row, leaseId } = run;
  return {
    sql: `update {cron.runs} set effect_at = ?, execution_json = ? where run_id = ? and lease_id = ? and status = 'running'
       and cancel_reason is null and exists (select 1 from {cron.leases} l where l.lease_id = ? and l.expires_at > ?)`,
    bindings: [effect ? now : null, execution ? JSON.stringify(execution) : null, row.run_id, leaseId, leaseId, now],
  };
}
