import { createTransactionGroup, type Database, type Transaction } from 'mortise/sdk';

/** Only database work: it may run twice. */
type Work<T> = (trx: Transaction) => Promise<T>;

/** Commits work that waits at the same time as one transaction, in which nothing fails because something else did. */
export interface Settlements {
  run<T>(work: Work<T>): Promise<T>;
  idle(): Promise<void>;
}

export function createSettlements(database: Database): Settlements {
  const { submit, idle } = createTransactionGroup<Work<unknown>, unknown>(database, async (works, trx) => {
    const values: unknown[] = [];
    for (const work of works) values.push(await work(trx));
    return values;
  });
  return { run: <T>(work: Work<T>) => submit(work) as Promise<T>, idle };
}
