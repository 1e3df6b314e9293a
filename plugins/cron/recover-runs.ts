import type { Transaction } from 'mortise/sdk';
import type { CronJobSpec, WorkflowExecution } from './contract/index.js';
import type { CronDeps } from './cron-deps.js';
import { becomesTurn } from './deliver-text.js';
import { nodeKey } from './idempotency-key.js';
import { effectiveRuntime } from './read-job-spec.js';
import { queueRun, releaseWaiting } from './store/finish-runs.js';
import { readRun } from './store/read-runs.js';
import { newRunId, type RunRow } from './store/rows.js';
import { timeText } from './times.js';

type RecoverDeps = Pick<CronDeps, 'database' | 'clock' | 'log' | 'instances' | 'sessions' | 'events'>;

interface OrphanRow extends RunRow {
  readonly expires_at: string | null;
}

/** The decision on an interrupted run. */
type Verdict = 'again' | 'wait' | { readonly failed: string };

/**
 * Recovers runs whose process is dead or has lost its lease: a run without an effect starts again, a turn that completed
 * is adopted, and an effect with an unknown outcome is repeated only if the job allows it.
 *
 * @param isMine whether this process executes a run
 * @returns the number of runs that are queued again
 */
export async function recoverRuns(deps: RecoverDeps, isMine: (runId: string) => boolean): Promise<number> {
  const { database, clock, instances, log } = deps;
  const { rows } = await database.statement<OrphanRow>(
    `select r.*, l.expires_at from {cron.runs} r left join {cron.leases} l on l.lease_id = r.lease_id
     where r.status = 'running'`,
  );
  const others = rows.filter(({ run_id }) => !isMine(run_id));
  if (others.length === 0) return 0;
  const alive = new Set((await instances.list()).filter((one) => one.alive).map(({ id }) => id));
  alive.add(instances.id);
  const now = timeText(clock.now());
  let queued = 0;
  for (const row of others) {
    const isDead = !alive.has(row.owner ?? '');
    if (!isDead && row.expires_at !== null && row.expires_at > now) continue;
    try {
      if (await recover(deps, row, isDead)) queued += 1;
    } catch (error) {
      log.warn({ run_id: row.run_id, err: error }, 'an interrupted run could not be recovered yet');
    }
  }
  return queued;
}

async function recover(deps: RecoverDeps, row: OrphanRow, isDead: boolean): Promise<boolean> {
  const { database } = deps;
  const spec = JSON.parse(row.spec_json ?? '{}') as CronJobSpec;
  const verdict = await judge(deps, row, spec);
  if (verdict === 'wait') return false;
  const changed = await database.transaction((trx) => settle(deps, row, { verdict, isDead }, trx));
  if (!changed) return false;
  deps.log.warn(
    { run_id: row.run_id, job_id: row.job_id, again: verdict === 'again' },
    'an interrupted run was recovered',
  );
  const stored = await readRun(database, row.run_id);
  if (stored) deps.events.publish({ type: 'run', run: stored.run });
  return verdict === 'again';
}

async function judge({ sessions }: RecoverDeps, row: RunRow, spec: CronJobSpec): Promise<Verdict> {
  const { onInterrupt } = effectiveRuntime(spec.runtime);
  if (row.cancel_reason !== null) return { failed: row.cancel_reason };
  if (row.effect_at === null) return onInterrupt === 'fail' ? { failed: 'run interrupted' } : 'again';
  const turn = await turnOf(sessions, row, spec);
  // Its owner may be alive; otherwise the sessions plugin marks it interrupted.
  if (turn === 'running') return 'wait';
  // Started again with its key, it adopts the stored reply. For other channels it is unknown whether the reply was delivered.
  const isKept = turn === 'completed' && spec.dispatch.channel === 'console';
  if (isKept || onInterrupt === 'retry') return 'again';
  return { failed: onInterrupt === 'fail' ? 'run interrupted' : 'run interrupted: outcome unknown' };
}

/** The turn of the interrupted effect, if it is running or complete. */
async function turnOf(
  sessions: RecoverDeps['sessions'],
  row: RunRow,
  spec: CronJobSpec,
): Promise<'running' | 'completed' | undefined> {
  const { channel, target } = spec.dispatch;
  if (target.user_id === '' || target.session_id === '') return undefined;
  let key = row.idempotency_key;
  if (spec.workflow) {
    const execution = JSON.parse(row.execution_json ?? '{"nodes":[]}') as Pick<WorkflowExecution, 'nodes'>;
    const node = execution.nodes.find(({ status }) => status === 'running');
    if (!node) return undefined;
    key = nodeKey(key, node.node_id);
  } else if (!becomesTurn(spec)) {
    return undefined;
  }
  const session = { channel, userId: target.user_id, sessionId: target.session_id };
  const turn = await sessions.turnByKey(session, key);
  if (turn?.status === 'running' || turn?.status === 'completed') return turn.status;
  return undefined;
}

/** Only one process recovers the run, and none if its living owner has renewed the lease meanwhile. */
async function settle(
  { database, clock }: RecoverDeps,
  row: RunRow,
  { verdict, isDead }: { readonly verdict: Exclude<Verdict, 'wait'>; readonly isDead: boolean },
  trx: Transaction,
): Promise<boolean> {
  const now = timeText(clock.now());
  const isCancelled = verdict !== 'again' && row.cancel_reason !== null;
  const status = verdict === 'again' ? 'interrupted' : isCancelled ? 'cancelled' : 'failed';
  const error = verdict === 'again' ? 'run interrupted' : verdict.failed;
  const again = newRunId();
  const { changes } = await database.statement(
    `update {cron.runs} set status = ?, error = ?, finished_at = ?, recovered_as = ?
     where run_id = ? and lease_id = ? and status = 'running'
       and not exists (select 1 from {cron.leases} l where l.lease_id = ? and l.expires_at > ?)`,
    [
      status,
      error,
      now,
      verdict === 'again' ? again : null,
      row.run_id,
      row.lease_id,
      row.lease_id,
      isDead ? '9999' : now,
    ],
    { trx },
  );
  if (changes !== 1) return false;
  const outcome = verdict === 'again' ? 'queued' : 'failed';
  const reason = verdict === 'again' ? null : isCancelled ? 'cancelled' : 'interrupted';
  await database.batch(
    [
      {
        sql: `update {cron.jobs} set last_status = case when last_run_id = ? then 'failed' else last_status end,
                last_error = case when last_run_id = ? then ? else last_error end where job_id = ?`,
        bindings: [row.run_id, row.run_id, error, row.job_id],
      },
      { sql: 'delete from {cron.leases} where lease_id = ?', bindings: [row.lease_id] },
      {
        sql: 'update {cron.slots} set outcome = ?, reason = ?, run_id = ? where job_id = ? and scheduled_at = ?',
        bindings: [outcome, reason, verdict === 'again' ? again : row.run_id, row.job_id, row.scheduled_at ?? ''],
      },
      releaseWaiting(row.job_id),
      ...(verdict === 'again'
        ? [
            queueRun({
              run_id: again,
              job_id: row.job_id,
              scheduled_at: row.scheduled_at,
              trigger: 'recovery',
              attempt: row.attempt,
              idempotency_key: row.idempotency_key,
              not_before: row.not_before,
              queued_at: now,
              execution_json: row.execution_json,
              recovers: row.run_id,
              spec_json: row.spec_json,
            }),
          ]
        : []),
    ],
    { trx },
  );
  return true;
}
