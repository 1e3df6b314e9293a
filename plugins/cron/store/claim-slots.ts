import { setImmediate as nextTurn } from 'node:timers/promises';
import { type BatchStatement, type Dialect, insertRows, type Transaction } from 'mortise/sdk';
import type { CronJobSpec } from '../contract/index.js';
import type { CronDeps } from '../cron-deps.js';
import { decideSlots, type SlotDecision } from '../decide-slots.js';
import { causeOf } from '../errors.js';
import { slotKey } from '../idempotency-key.js';
import { type EffectiveRuntime, effectiveRuntime } from '../read-job-spec.js';
import { readSchedule, type SlotSeries, slotsOf } from '../schedule/schedule.js';
import { slotText, timeText } from '../times.js';
import { jsonRows } from './json-rows.js';
import { type JobRow, newRunId } from './rows.js';

type ClaimDeps = Pick<CronDeps, 'database' | 'clock' | 'log' | 'instances' | 'metrics'>;

/** Jobs of one transaction: they share its commit. */
const batchSize = 100;

/**
 * Claims the due slots of all jobs: each gets its row in the ledger, and its run or the reason why it has none. Rows that
 * another process is claiming are skipped; the primary key of the ledger makes a second claim of a slot impossible.
 *
 * @returns the number of runs that were queued
 */
export async function claimDueSlots(deps: ClaimDeps, until: { readonly aborted: boolean }): Promise<number> {
  const { database, clock } = deps;
  const lock = database.dialect === 'postgres' ? 'for update skip locked' : '';
  let queued = 0;
  while (!until.aborted) {
    const now = Math.floor(clock.now());
    const claimed = await database.transaction(async (trx) => {
      const { rows } = await database.statement<JobRow>(
        `select * from {cron.jobs} where next_run_at <= ? order by next_run_at, job_id limit ${batchSize} ${lock}`,
        [slotText(now)],
        { trx },
      );
      const runs = rows.length === 0 ? 0 : await claimSlots(deps, rows, now, trx);
      return { jobs: rows.length, runs };
    });
    queued += claimed.runs;
    if (claimed.jobs < batchSize) break;
    await nextTurn();
  }
  return queued;
}

/**
 * Most ticks of most processes end here, outside of a transaction. The first entry of the index, whatever the planner
 * assumes about the number of due jobs.
 */
export async function hasDueSlots({ database, clock }: ClaimDeps): Promise<boolean> {
  const { rows } = await database.statement<{ next_run_at: string }>(
    'select next_run_at from {cron.jobs} where next_run_at is not null order by next_run_at limit 1',
  );
  return rows[0] !== undefined && rows[0].next_run_at <= slotText(clock.now());
}

interface Plan {
  readonly specJson: string;
  readonly epochFrom: string | null;
  readonly series: SlotSeries;
  readonly runtime: EffectiveRuntime;
}

/** By job id. Compared with the row at each use: a job may be deleted and created again. */
const plans = new Map<string, Plan>();
const maxPlans = 20_000;

function planOf({ job_id, spec_json: specJson, epoch_from: epochFrom }: JobRow): Plan {
  let plan = plans.get(job_id);
  if (plan?.specJson !== specJson || plan.epochFrom !== epochFrom) {
    const { schedule, runtime } = JSON.parse(specJson) as CronJobSpec;
    plan = {
      specJson,
      epochFrom,
      series: slotsOf(readSchedule(schedule), Date.parse(epochFrom ?? '')),
      runtime: effectiveRuntime(runtime),
    };
    if (plans.size >= maxPlans) plans.clear();
    plans.set(job_id, plan);
  }
  return plan;
}

const slotColumns = {
  table: 'cron.slots',
  columns: [
    'job_id',
    'scheduled_at',
    'through_at',
    'slot_count',
    'epoch',
    'outcome',
    'reason',
    'run_id',
    'claimed_by',
    'decided_at',
  ],
  // After a clock is set back, slots recur that already have an outcome.
  suffix: 'on conflict do nothing returning job_id, scheduled_at',
} as const;

const runColumns = {
  table: 'cron.runs',
  columns: [
    'run_id',
    'job_id',
    'scheduled_at',
    'trigger',
    'attempt',
    'status',
    'idempotency_key',
    'not_before',
    'waits',
    'queued_at',
  ],
} as const;

/**
 * Claims the due slots of locked jobs.
 * @param now epoch milliseconds
 * @returns the number of runs that were queued
 */
export async function claimSlots(
  deps: ClaimDeps,
  rows: readonly JobRow[],
  now: number,
  trx: Transaction,
): Promise<number> {
  const { database, instances, metrics } = deps;
  const slots: (string | number | null)[][] = [];
  const runs: { readonly id: string; readonly jobId: string; readonly slot: string; readonly dueAt: string }[] = [];
  const updates: BatchStatement[] = [];
  const next: { readonly job: string; readonly at: string }[] = [];
  const decidedAt = timeText(now);
  for (const row of rows) {
    const claimed = decide(deps, row, now);
    if ('broken' in claimed) {
      updates.push(breakJob(row, claimed.broken));
      continue;
    }
    const { decision, runtime } = claimed;
    const isReplaced = runtime.overlapPolicy === 'queue' && runtime.misfirePolicy !== 'run_all';
    if (isReplaced && decision.runs.length > 0)
      metrics.slots('coalesced', await replaceQueued(deps, row.job_id, decidedAt, trx));
    for (const { from, through, count, reason } of decision.skips) {
      const range = [slotText(from), slotText(through), count, row.epoch];
      slots.push([row.job_id, ...range, 'skipped', reason, null, instances.id, decidedAt]);
      metrics.slots(reason, count ?? 0);
    }
    for (const at of decision.runs) {
      const [slot, id] = [slotText(at), newRunId()];
      slots.push([row.job_id, slot, slot, 1, row.epoch, 'queued', null, id, instances.id, decidedAt]);
      runs.push({ id, jobId: row.job_id, slot, dueAt: timeText(at) });
    }
    next.push({ job: row.job_id, at: slotText(decision.next) });
    const misfire = decision.runs.length === 0 && decision.skips.findLast(({ reason }) => reason === 'misfire');
    if (misfire) updates.push(sayMisfire(row, misfire.through));
  }
  const inserted = await insertRows<{ job_id: string; scheduled_at: string }>(database, slotColumns, slots, { trx });
  const isNew = new Set(inserted.map(({ job_id, scheduled_at }) => `${scheduled_at} ${job_id}`));
  const started = runs.filter(({ jobId, slot }) => isNew.has(`${slot} ${jobId}`));
  await insertRows(
    database,
    runColumns,
    started.map(({ id, jobId, slot, dueAt }) => [
      id,
      jobId,
      slot,
      'schedule',
      1,
      'queued',
      slotKey(jobId, slot),
      dueAt,
      false,
      decidedAt,
    ]),
    { trx },
  );
  await database.batch([advance(database.dialect, next), ...updates], { trx });
  return started.length;
}

function decide(
  { log }: ClaimDeps,
  row: JobRow,
  now: number,
): { readonly decision: SlotDecision; readonly runtime: EffectiveRuntime } | { readonly broken: string } {
  try {
    const { series, runtime } = planOf(row);
    return { decision: decideSlots(series, Date.parse(row.next_run_at ?? ''), now, runtime), runtime };
  } catch (error) {
    log.error({ job_id: row.job_id, err: error }, 'the schedule of a job cannot be computed');
    return { broken: causeOf(error) };
  }
}

/** A stored schedule that cannot be computed any more, such as one in a zone that is no longer known. */
function breakJob({ job_id }: JobRow, error: string): BatchStatement {
  return {
    sql: "update {cron.jobs} set next_run_at = null, last_status = 'failed', last_error = ? where job_id = ?",
    bindings: [error, job_id],
  };
}

function advance(dialect: Dialect, next: readonly object[]): BatchStatement {
  return {
    sql: `update {cron.jobs} set next_run_at = v.at
          from ${jsonRows(dialect, { job: 'text', at: 'text' })} v where job_id = v.job`,
    bindings: [JSON.stringify(next)],
  };
}

function sayMisfire({ job_id }: JobRow, through: number): BatchStatement {
  return {
    sql: "update {cron.jobs} set last_status = 'failed', last_error = ? where job_id = ?",
    bindings: [`misfire skipped: scheduled_at=${slotText(through)}`, job_id],
  };
}

/** At most one slot of a job waits: a newer one replaces it. @returns how many were replaced */
async function replaceQueued({ database }: ClaimDeps, jobId: string, now: string, trx: Transaction): Promise<number> {
  const { rows } = await database.statement<{ scheduled_at: string }>(
    `update {cron.runs} set status = 'cancelled', error = 'replaced by a newer slot', finished_at = ?
     where job_id = ? and status = 'queued' and trigger = 'schedule' returning scheduled_at`,
    [now, jobId],
    { trx },
  );
  for (const { scheduled_at } of rows) {
    await database.statement(
      `update {cron.slots} set outcome = 'skipped', reason = 'coalesced', run_id = null, decided_at = ?
       where job_id = ? and scheduled_at = ?`,
      [now, jobId, scheduled_at],
      { trx },
    );
  }
  return rows.length;
}
