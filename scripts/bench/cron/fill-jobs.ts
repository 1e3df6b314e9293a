import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { type Database, insertRows } from '../../../core/sdk/index.js';
import { until } from '../../../core/sdk/testing/index.js';

const jobs = {
  table: 'cron.jobs',
  columns: [
    'job_id',
    'name',
    'enabled',
    'paused',
    'owner_json',
    'user_id',
    'spec_json',
    'epoch',
    'epoch_from',
    'next_run_at',
    'rev',
  ],
} as const;

const epochs = {
  table: 'cron.epochs',
  columns: ['job_id', 'epoch', 'schedule_json', 'timezone', 'from_at'],
} as const;

const owner = JSON.stringify({ id: 'bench', admin: false, loopback: false, authenticated: false });
const batch = 2_000;

/** Jobs to insert: their interval, and when their epoch began; epoch milliseconds, whole seconds. */
interface JobFill {
  readonly prefix: string;
  readonly count: number;
  readonly seconds: number;
  readonly from: number;
  /** Text sent to the bench's channel: `tick`, or `hang`, which it does not answer. */
  readonly text?: string;
  /** Additional members of `runtime`. */
  readonly runtime?: object;
}

/** Inserts enabled jobs for the bench's channel. Over HTTP 100,000 jobs would take minutes. */
export async function fillJobs(
  database: Database,
  { prefix, count, seconds, from, text: sent = 'tick', runtime = {} }: JobFill,
): Promise<void> {
  const text = (at: number): string => `${new Date(at).toISOString().slice(0, 19)}Z`;
  const schedule = { type: 'interval', cron: `${seconds}s`, timezone: 'UTC' };
  const [begun, next] = [text(from), text(from + seconds * 1_000)];
  for (let first = 0; first < count; first += batch) {
    const ids = Array.from({ length: Math.min(batch, count - first) }, (_, index) => `${prefix}-${first + index}`);
    await database.transaction(async (trx) => {
      const specs = ids.map((id) =>
        JSON.stringify({
          id,
          name: id,
          enabled: true,
          schedule,
          task_type: 'text',
          text: sent,
          dispatch: { type: '', channel: 'bench-sink', target: { user_id: '', session_id: '' }, mode: '', meta: {} },
          runtime: { max_concurrency: 4, timeout_seconds: 30, misfire_grace_seconds: 0, ...runtime },
          meta: {},
        }),
      );
      await insertRows(
        database,
        jobs,
        ids.map((id, index) => [id, id, true, false, owner, '', specs[index] ?? '', 1, begun, next, 1]),
        { trx },
      );
      await insertRows(
        database,
        epochs,
        ids.map((id) => [id, 1, JSON.stringify(schedule), 'UTC', begun]),
        { trx },
      );
    });
    await nextTurn();
  }
}

/** Waits until this many runs of jobs with this prefix have ended and none is open. Polls rarely to save CPU. */
export async function untilEnded(database: Database, prefix: string, least: number): Promise<void> {
  await until(
    `the runs of ${prefix}`,
    async () => {
      await sleep(250);
      const { rows } = await database.statement<{ ended: number | string; open: number | string }>(
        `select count(finished_at) as ended, count(*) - count(finished_at) as open from {cron.runs} where job_id like ?`,
        [`${prefix}-%`],
      );
      return Number(rows[0]?.open) === 0 && Number(rows[0]?.ended) >= least;
    },
    120_000,
  );
}

/** Lateness of the runs of jobs with this prefix, milliseconds, ascending, and when the last one ended. */
export async function lateness(
  database: Database,
  prefix: string,
): Promise<{ readonly late: readonly number[]; readonly lastEnd: number }> {
  const { rows } = await database.statement<{
    scheduled_at: string;
    started_at: string | null;
    finished_at: string | null;
  }>('select scheduled_at, started_at, finished_at from {cron.runs} where job_id like ?', [`${prefix}-%`]);
  const late = rows.flatMap(({ scheduled_at: slot, started_at: at }) =>
    at === null ? [] : [Date.parse(at) - Date.parse(slot)],
  );
  const ends = rows.flatMap(({ finished_at: at }) => (at === null ? [] : [Date.parse(at)]));
  return {
    late: late.sort((a, b) => a - b),
    lastEnd: Math.max(0, ...ends),
  };
}
