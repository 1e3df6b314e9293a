import type { Database, TransactionOption } from 'mortise/sdk';
import { type Job, type JobRow, jobOf } from './rows.js';

/** @returns undefined for an unknown id */
export async function readJob(database: Database, jobId: string): Promise<Job | undefined> {
  const { rows } = await database.statement<JobRow>('select * from {cron.jobs} where job_id = ?', [jobId]);
  return rows[0] && jobOf(rows[0], database.codec);
}

/** A position in the list of jobs. */
export type JobPosition = readonly [name: string, jobId: string];

/** Jobs by name, then id; those of one user when it is given. */
export async function listJobs(
  database: Database,
  {
    userId,
    limit,
    after,
  }: {
    readonly userId: string | undefined;
    readonly limit?: number | undefined;
    readonly after?: JobPosition | undefined;
  },
  options?: TransactionOption,
): Promise<readonly Job[]> {
  const bytes = database.dialect === 'postgres' ? ' collate "C"' : '';
  const query = database.query(options)<JobRow>(database.table('cron.jobs')).orderByRaw(`name${bytes}, job_id${bytes}`);
  if (userId !== undefined) void query.where('user_id', userId);
  if (limit !== undefined) void query.limit(limit);
  if (after) void query.whereRaw(`(name${bytes}, job_id${bytes}) > (?, ?)`, [...after]);
  const rows = (await query) as JobRow[];
  return rows.map((row) => jobOf(row, database.codec));
}
