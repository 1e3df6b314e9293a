import { createGroupCommit, type GroupOutcome, type Transaction } from 'mortise/sdk';
import { type WriterDeps, writeGroup } from './write-group.js';
import { LostRace, type WriteJob, type WriteOutcome } from './write-job.js';

/** Writes memories and audit rows. Jobs that wait at the same time share one transaction. */
export interface Writer {
  submit(job: WriteJob): Promise<WriteOutcome>;
  /** Resolves when nothing waits or is being written. */
  idle(): Promise<void>;
}

/** After a lost race the other memory is committed, so the next try finds it. More losses have another cause. */
const MAX_TRIES = 3;

export function createWriter(deps: WriterDeps): Writer {
  const { database } = deps;

  const together = (jobs: readonly WriteJob[]): Promise<readonly WriteOutcome[]> =>
    database.transaction((trx) => writeGroup(jobs, deps, trx));

  const alone = async (job: WriteJob, trx: Transaction): Promise<GroupOutcome<WriteOutcome>> => {
    for (let tries = 1; ; tries += 1) {
      try {
        const [value] = await database.transaction((savepoint) => writeGroup([job], deps, savepoint), { trx });
        return value === undefined ? { error: new Error('The job has no outcome.') } : { value };
      } catch (error) {
        if (database.codec.errorKind(error) === 'unavailable') throw error;
        if (!(error instanceof LostRace) || tries === MAX_TRIES) return { error };
      }
    }
  };

  const { submit, idle } = createGroupCommit<WriteJob, WriteOutcome>(async (jobs) => {
    try {
      return (await together(jobs)).map((value) => ({ value }));
    } catch (error) {
      if (database.codec.errorKind(error) === 'unavailable') throw error;
      // One job failed the group: run each in its own savepoint, so that it fails alone.
      return database.transaction(async (trx) => {
        const outcomes: GroupOutcome<WriteOutcome>[] = [];
        for (const job of jobs) outcomes.push(await alone(job, trx));
        return outcomes;
      });
    }
  });
  return { submit, idle };
}
