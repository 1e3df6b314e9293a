import { createGroupCommit, type GroupOutcome, type Transaction } from 'mortise/sdk';
import { type WriteParts, writeGroup } from './write-group.js';
import { LostRace, type WriteJob, type WriteOutcome } from './write-job.js';

/** Writes memories and audit rows, those that wait at the same time in one transaction. */
export interface Writer {
  submit(job: WriteJob): Promise<WriteOutcome>;
  /** Resolves when nothing waits or is being written. */
  idle(): Promise<void>;
}

/** A race is lost to a memory that is committed, so the next look finds it; more losses mean something else is wrong. */
const MOST_TRIES = 3;

export function createWriter(parts: WriteParts): Writer {
  const { database } = parts;

  const together = (jobs: readonly WriteJob[]): Promise<readonly WriteOutcome[]> =>
    database.transaction((trx) => writeGroup(jobs, parts, trx));

  const alone = async (job: WriteJob, trx: Transaction): Promise<GroupOutcome<WriteOutcome>> => {
    for (let tries = 1; ; tries += 1) {
      try {
        const [value] = await database.transaction((savepoint) => writeGroup([job], parts, savepoint), { trx });
        return value === undefined ? { error: new Error('The job has no outcome.') } : { value };
      } catch (error) {
        if (database.codec.errorKind(error) === 'unavailable') throw error;
        if (!(error instanceof LostRace) || tries === MOST_TRIES) return { error };
      }
    }
  };

  const { submit, idle } = createGroupCommit<WriteJob, WriteOutcome>(async (jobs) => {
    try {
      return (await together(jobs)).map((value) => ({ value }));
    } catch (error) {
      if (database.codec.errorKind(error) === 'unavailable') throw error;
      // One of them failed: each again in its own savepoint, so that it fails no other.
      return database.transaction(async (trx) => {
        const outcomes: GroupOutcome<WriteOutcome>[] = [];
        for (const job of jobs) outcomes.push(await alone(job, trx));
        return outcomes;
      });
    }
  });
  return { submit, idle };
}
