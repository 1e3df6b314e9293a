import { createTransactionGroup, type GroupCommit } from 'mortise/sdk';
import { type WriterDeps, writeGroup } from './write-group.js';
import { LostRace, type WriteJob, type WriteOutcome } from './write-job.js';

/** Writes memories and audit rows, those that wait at the same time in one transaction. */
export type Writer = GroupCommit<WriteJob, WriteOutcome>;

export function createWriter(deps: WriterDeps): Writer {
  return createTransactionGroup<WriteJob, WriteOutcome>(
    deps.database,
    (jobs, trx) => writeGroup(jobs, deps, trx),
    // A race is lost to a memory that is committed, so the next look finds it.
    { retries: (error) => error instanceof LostRace },
  );
}
