import { setImmediate as nextTurn } from 'node:timers/promises';
import type { CronDeps } from '../cron-deps.js';
import { timeText } from '../times.js';

/** Number of newest runs of a job that are always kept. */
const keptRuns = 100;
const batchSize = 2_000;
const dayMs = 86_400_000;

/** Deletes runs and ledger rows whose retention has ended, in small transactions. @returns how many of each */
export async function prune(
  { database, clock }: Pick<CronDeps, 'database' | 'clock'>,
  { runDays, slotDays }: { readonly runDays: number; readonly slotDays: number },
  signal: AbortSignal,
): Promise<{ readonly runs: number; readonly slots: number }> {
  const runsBefore = timeText(clock.now() - runDays * dayMs);
  const { rows } = await database.statement<{ job_id: string }>(
    'select distinct job_id from {cron.runs} where queued_at < ?',
    [runsBefore],
  );
  let runs = 0;
  for (const { job_id } of rows) {
    if (signal.aborted) break;
    const { rows: oldest } = await database.statement<{ queued_at: string; run_id: string }>(
      `select queued_at, run_id from {cron.runs} where job_id = ? order by queued_at desc, run_id desc limit 1 offset ${keptRuns - 1}`,
      [job_id],
    );
    const [kept] = oldest;
    if (!kept) continue;
    const { changes } = await database.statement(
      `delete from {cron.runs} where job_id = ? and queued_at < ? and (queued_at, run_id) < (?, ?)
         and finished_at is not null`,
      [job_id, runsBefore, kept.queued_at, kept.run_id],
    );
    runs += changes;
    await nextTurn();
  }
  const slotsBefore = timeText(clock.now() - slotDays * dayMs);
  let slots = 0;
  for (let deleted = batchSize; deleted === batchSize && !signal.aborted; slots += deleted) {
    const result = await database.statement(
      `delete from {cron.slots} where (job_id, scheduled_at) in
         (select job_id, scheduled_at from {cron.slots} where decided_at < ? and outcome not in ('queued', 'running')
          limit ${batchSize})`,
      [slotsBefore],
    );
    deleted = result.changes;
    await nextTurn();
  }
  return { runs, slots };
}
