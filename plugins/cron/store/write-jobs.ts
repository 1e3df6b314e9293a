import { boundUser, type Principal, platformPrincipal, type Transaction, type TransactionOption } from 'mortise/sdk';
import type { CronJobSpec } from '../contract/index.js';
import type { CronDeps } from '../cron-deps.js';
import { defaultJobId } from '../read-job-spec.js';
import { readSchedule, slotsOf } from '../schedule/schedule.js';
import { slotText, timeText } from '../times.js';
import { claimSlots } from './claim-slots.js';
import { type Job, type JobRow, jobOf } from './rows.js';

type WriteDeps = Pick<CronDeps, 'database' | 'clock' | 'log' | 'instances' | 'metrics'>;

async function lockJob({ database }: WriteDeps, jobId: string, trx: Transaction): Promise<JobRow | undefined> {
  const lock = database.dialect === 'postgres' ? 'for update' : '';
  const { rows } = await database.statement<JobRow>(`select * from {cron.jobs} where job_id = ? ${lock}`, [jobId], {
    trx,
  });
  return rows[0];
}

/**
 * Runs work for who saved the job last: who changes what a job does must not have it done with the rights of another. A
 * job of a key that is bound to a user stays its own when an administrator edits it: its text may still be that user's.
 */
function ownerAfter(stored: Principal, editor: Principal): Principal {
  const staysBound = boundUser(stored) !== undefined && boundUser(editor) === undefined;
  return staysBound ? stored : ownerOf(editor);
}

/** The principal without its right to administrate, and without facts of the one request that it made. */
function ownerOf({ id, actor, spaces, claims, authenticated }: Principal): Principal {
  return {
    id,
    ...(actor === undefined ? {} : { actor }),
    ...(spaces === undefined ? {} : { spaces }),
    ...(claims === undefined ? {} : { claims }),
    admin: false,
    loopback: false,
    authenticated,
  };
}

interface SaveOptions extends TransactionOption {
  /** Who saves it, and whom its runs work for from now on. */
  readonly principal: Principal;
  /**
   * Completes the job from the stored one, which is undefined for a new job, before anything is written; throws to refuse.
   */
  readonly complete?: (spec: CronJobSpec, stored: Job | undefined) => CronJobSpec;
}

/**
 * Creates or replaces a job; its state is kept. An epoch ends when the schedule changes or the job is disabled, and its due
 * slots are claimed first; any other change keeps the epoch and the next slot.
 */
export function saveJob(
  deps: WriteDeps,
  given: CronJobSpec,
  { principal, complete, ...options }: SaveOptions,
): Promise<CronJobSpec> {
  const { database, clock } = deps;
  return database.transaction(async (trx) => {
    let row = await lockJob(deps, given.id, trx);
    const spec = complete?.(given, row && jobOf(row, database.codec)) ?? given;
    const now = Math.floor(clock.now());
    if (!row) {
      await insertJob(deps, spec, ownerOf(principal), trx);
      row = await lockJob(deps, spec.id, trx);
      if (!row) throw new Error('a job that was inserted is gone');
    }
    const stored = jobOf(row, database.codec);
    const isScheduled = spec.enabled && !stored.paused;
    const isSame = stored.epochFrom !== null && scheduleText(stored.spec) === scheduleText(spec);
    if (stored.epochFrom !== null && !(isScheduled && isSame)) row = await endEpoch(deps, row, now, trx);
    await database.statement(
      `update {cron.jobs} set name = ?, enabled = ?, spec_json = ?, user_id = ?, owner_json = ?, rev = rev + 1,
         last_error = null where job_id = ?`,
      [
        spec.name,
        spec.enabled,
        JSON.stringify(spec),
        spec.dispatch.target.user_id,
        JSON.stringify(ownerAfter(stored.owner, principal)),
        spec.id,
      ],
      { trx },
    );
    if (isScheduled && !(stored.epochFrom !== null && isSame)) await beginEpoch(deps, row, spec, now, trx);
    return spec;
  }, options);
}

function scheduleText({ schedule }: CronJobSpec): string {
  const { type, cron, timezone, dst_gap, dst_overlap } = schedule;
  return JSON.stringify([type, cron, timezone, dst_gap, dst_overlap]);
}

async function insertJob(
  { database }: WriteDeps,
  spec: CronJobSpec,
  owner: Principal,
  trx: Transaction,
): Promise<void> {
  await database.statement(
    `insert into {cron.jobs} (job_id, name, enabled, paused, owner_json, user_id, spec_json, epoch, rev, failures)
     values (?, ?, ?, ?, ?, ?, ?, 0, 0, 0) on conflict do nothing`,
    [
      spec.id,
      spec.name,
      spec.enabled,
      false,
      JSON.stringify(owner),
      spec.dispatch.target.user_id,
      JSON.stringify(spec),
    ],
    { trx },
  );
}

/** Claims what is due and ends the epoch. @returns the job's row without an epoch */
async function endEpoch(deps: WriteDeps, row: JobRow, now: number, trx: Transaction): Promise<JobRow> {
  const { database } = deps;
  let current = row;
  while (current.next_run_at !== null && Date.parse(current.next_run_at) <= now) {
    await claimSlots(deps, [current], now, trx);
    current = (await lockJob(deps, row.job_id, trx)) ?? { ...current, next_run_at: null };
  }
  await database.statement(
    'update {cron.epochs} set to_at = ? where job_id = ? and epoch = ?',
    [slotText(now), row.job_id, row.epoch],
    { trx },
  );
  await database.statement(
    'update {cron.jobs} set epoch_from = null, next_run_at = null where job_id = ?',
    [row.job_id],
    { trx },
  );
  return { ...current, epoch_from: null, next_run_at: null };
}

async function beginEpoch(
  { database }: WriteDeps,
  row: JobRow,
  spec: CronJobSpec,
  now: number,
  trx: Transaction,
): Promise<void> {
  const from = Math.floor(now / 1_000) * 1_000;
  const [epoch, fromAt] = [row.epoch + 1, slotText(from)];
  const next = slotText(slotsOf(readSchedule(spec.schedule), from).next(from));
  await database.statement(
    'insert into {cron.epochs} (job_id, epoch, schedule_json, timezone, from_at) values (?, ?, ?, ?, ?)',
    [spec.id, epoch, JSON.stringify(spec.schedule), spec.schedule.timezone, fromAt],
    { trx },
  );
  await database.statement(
    'update {cron.jobs} set epoch = ?, epoch_from = ?, next_run_at = ? where job_id = ?',
    [epoch, fromAt, next, spec.id],
    { trx },
  );
}

/** Pauses or resumes a job. Repeating it changes nothing. @returns false for an unknown job */
export function setPaused(
  deps: WriteDeps,
  jobId: string,
  paused: boolean,
  options?: TransactionOption,
): Promise<boolean> {
  const { database, clock } = deps;
  return database.transaction(async (trx) => {
    const row = await lockJob(deps, jobId, trx);
    if (!row) return false;
    const job = jobOf(row, database.codec);
    const status = paused ? 'paused' : 'resumed';
    if (job.paused === paused && (paused || job.enabled)) return true;
    const now = Math.floor(clock.now());
    const ended = paused && job.epochFrom !== null ? await endEpoch(deps, row, now, trx) : row;
    await database.statement(
      'update {cron.jobs} set paused = ?, last_status = ?, last_error = null, rev = rev + 1 where job_id = ?',
      [paused, status, jobId],
      { trx },
    );
    if (!paused && job.enabled && job.epochFrom === null) await beginEpoch(deps, ended, job.spec, now, trx);
    return true;
  }, options);
}

/**
 * Deletes a job with its epochs, ledger and leases; its runs stay until their retention ends.
 * @returns the ids of runs that must be aborted; undefined for an unknown job
 */
export function deleteJob(
  { database, clock, ...rest }: WriteDeps,
  jobId: string,
  options?: TransactionOption,
): Promise<readonly string[] | undefined> {
  return database.transaction(async (trx) => {
    if (!(await lockJob({ database, clock, ...rest }, jobId, trx))) return undefined;
    const { rows } = await database.statement<{ run_id: string }>(
      "select run_id from {cron.runs} where job_id = ? and status = 'running'",
      [jobId],
      { trx },
    );
    await database.statement(
      `update {cron.runs} set status = 'cancelled', error = 'job deleted', finished_at = ?, cancel_reason = 'job deleted'
       where job_id = ? and status in ('queued', 'running')`,
      [timeText(clock.now()), jobId],
      { trx },
    );
    for (const table of ['leases', 'slots', 'epochs', 'jobs']) {
      await database.statement(`delete from {cron.${table}} where job_id = ?`, [jobId], { trx });
    }
    return rows.map(({ run_id }) => run_id);
  }, options);
}

/** The job that always exists. */
const defaultJob: CronJobSpec = {
  id: defaultJobId,
  name: '你好文本任务',
  enabled: false,
  schedule: { type: 'interval', cron: '60s', timezone: 'UTC' },
  task_type: 'text',
  text: '你好',
  dispatch: {
    type: '',
    channel: 'console',
    target: { user_id: 'demo-user', session_id: 'session-default' },
    mode: '',
    meta: {},
  },
  runtime: { max_concurrency: 1, timeout_seconds: 30, misfire_grace_seconds: 0 },
  meta: { system_default: true },
};

/** Creates the default job where it is missing. */
export async function ensureDefaultJob(deps: WriteDeps): Promise<void> {
  await deps.database.transaction((trx) => insertJob(deps, defaultJob, ownerOf(platformPrincipal), trx));
}
