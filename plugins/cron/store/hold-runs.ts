import { jsonTexts } from 'mortise/sdk';
import type { WorkflowExecution } from '../contract/index.js';
import type { CronDeps } from '../cron-deps.js';
import { timeText } from '../times.js';
import type { StartedRun } from './start-runs.js';

type HoldDeps = Pick<CronDeps, 'database' | 'clock' | 'leaseMs' | 'instances'>;

/** Whether a run that this process holds was cancelled elsewhere, and why. */
export interface Renewed {
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

/** Lets the leases of this process expire, so that runs that it leaves behind are recovered at once. */
export async function expireLeases({ database, clock }: HoldDeps, leaseIds: readonly string[]): Promise<void> {
  await database.statement(`update {cron.leases} set expires_at = ? where lease_id in ${jsonTexts(database.dialect)}`, [
    timeText(clock.now()),
    JSON.stringify(leaseIds),
  ]);
}

/**
 * Records that an effect of a run begins, and how far its workflow is. Fenced by the lease.
 * @returns false when the run was taken over or cancelled: the effect must not begin
 */
export async function recordProgress(
  { database, clock }: HoldDeps,
  { row, leaseId }: StartedRun,
  { effect, execution }: { readonly effect: boolean; readonly execution: WorkflowExecution | undefined },
): Promise<boolean> {
  const now = timeText(clock.now());
  const { changes } = await database.statement(
    `update {cron.runs} set effect_at = ?, execution_json = ? where run_id = ? and lease_id = ? and status = 'running'
       and cancel_reason is null and exists (select 1 from {cron.leases} l where l.lease_id = ? and l.expires_at > ?)`,
    [effect ? now : null, execution ? JSON.stringify(execution) : null, row.run_id, leaseId, leaseId, now],
  );
  return changes === 1;
}
