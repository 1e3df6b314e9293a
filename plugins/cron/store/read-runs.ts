import type { Database } from 'mortise/sdk';
import type { CronRun, CronSlot } from '../contract/index.js';
import { type RunRow, runOf, type SlotRow, slotOf } from './rows.js';

/** A run with its internal members. @returns undefined for an unknown id */
export async function readRun(
  database: Database,
  runId: string,
): Promise<
  { readonly run: CronRun; readonly lease_id: string | null; readonly cancel_reason: string | null } | undefined
> {
  const { rows } = await database.statement<RunRow>('select * from {cron.runs} where run_id = ?', [runId]);
  const [row] = rows;
  return row && { run: runOf(row), lease_id: row.lease_id, cancel_reason: row.cancel_reason };
}

/** A position in a list of runs, newest first. */
export type RunPosition = readonly [queuedAt: string, runId: string];

export interface ListedRun {
  readonly run: CronRun;
  /** Exact, unlike the times of the run. */
  readonly position: RunPosition;
}

/** Runs of a job, newest first. */
export async function listRuns(
  database: Database,
  {
    jobId,
    status,
    limit,
    before,
  }: {
    readonly jobId: string;
    readonly status: string | undefined;
    readonly limit: number;
    readonly before: RunPosition | undefined;
  },
): Promise<readonly ListedRun[]> {
  const query = database
    .query()<RunRow>(database.table('cron.runs'))
    .where('job_id', jobId)
    .orderBy([
      { column: 'queued_at', order: 'desc' },
      { column: 'run_id', order: 'desc' },
    ])
    .limit(limit);
  if (status !== undefined) void query.where('status', status);
  if (before) {
    const [queuedAt, runId] = before;
    void query.where((or) =>
      or
        .where('queued_at', '<', queuedAt)
        .orWhere((same) => same.where('queued_at', queuedAt).where('run_id', '<', runId)),
    );
  }
  return ((await query) as RunRow[]).map((row) => ({ run: runOf(row), position: [row.queued_at, row.run_id] }));
}

/** Rows of the ledger that cover instants in `[from, to]`, by time. */
export async function listSlots(
  database: Database,
  {
    jobId,
    from,
    to,
    limit,
    after,
  }: {
    readonly jobId: string;
    readonly from: string | undefined;
    readonly to: string | undefined;
    readonly limit: number;
    readonly after: string | undefined;
  },
): Promise<readonly CronSlot[]> {
  const query = database
    .query()<SlotRow>(database.table('cron.slots'))
    .where('job_id', jobId)
    .orderBy('scheduled_at')
    .limit(limit);
  if (from !== undefined) void query.where('through_at', '>=', from);
  if (to !== undefined) void query.where('scheduled_at', '<=', to);
  if (after !== undefined) void query.where('scheduled_at', '>', after);
  const rows = (await query) as SlotRow[];
  return rows.map((row) => slotOf({ ...row, slot_count: row.slot_count === null ? null : Number(row.slot_count) }));
}
