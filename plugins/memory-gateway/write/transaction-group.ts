import { createGroupCommit, type Database, type GroupOutcome, type Transaction } from 'mortise/sdk';

/** Database work inside a transaction. It may run twice, so it must have no other effects. */
type Work = (trx: Transaction) => Promise<unknown>;

/** Commits work that waits at the same time in one transaction. Work that fails does not fail the rest. */
export interface TransactionGroup {
  run<T>(work: (trx: Transaction) => Promise<T>): Promise<T>;
  idle(): Promise<void>;
}

export function createTransactionGroup(database: Database): TransactionGroup {
  const { submit, idle } = createGroupCommit<Work, unknown>(async (works) => {
    try {
      return await database.transaction(async (trx) => {
        const values: GroupOutcome<unknown>[] = [];
        for (const work of works) values.push({ value: await work(trx) });
        return values;
      });
    } catch (error) {
      if (works.length === 1 || database.codec.errorKind(error) === 'unavailable') throw error;
      return database.transaction(async (trx) => {
        const outcomes: GroupOutcome<unknown>[] = [];
        for (const work of works) {
          const alone = database.transaction(work, { trx });
          outcomes.push(
            await alone.then(
              (value) => ({ value }),
              (reason: unknown) => ({ error: reason }),
            ),
          );
        }
        return outcomes;
      });
    }
  });
  return { run: <T>(work: (trx: Transaction) => Promise<T>) => submit(work) as Promise<T>, idle };
}
