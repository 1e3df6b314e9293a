import { createGroupCommit, type GroupCommit, type GroupOutcome } from 'mortise/sdk';
import type { OutboxDeps } from '../outbox-deps.js';
import { type Outcome, type Settled, settleAttempts } from './settle.js';

/** Records results of attempts; those that end while a transaction is running share the next one. */
export type Settler = Pick<GroupCommit<Outcome, Settled>, 'submit'>;

/** Rows per transaction: a few batches of a backend that accepts many. */
const LARGEST_SETTLEMENT = 400;

/**
 * An outbox row, its ledger row and its audit row always change in one transaction. Grouping only saves commits: when a
 * group fails, each of its rows is recorded in a transaction of its own.
 */
export function createSettler(parts: OutboxDeps): Settler {
  const { database } = parts;
  const together = (outcomes: readonly Outcome[]): Promise<readonly Settled[]> =>
    database.transaction((trx) => settleAttempts(outcomes, parts, trx));

  const alone = async (outcome: Outcome): Promise<GroupOutcome<Settled>> => {
    try {
      const [value] = await together([outcome]);
      return value === undefined ? { error: new Error('The attempt has no outcome.') } : { value };
    } catch (error) {
      return { error };
    }
  };

  return createGroupCommit(async (outcomes) => {
    try {
      return (await together(outcomes)).map((value) => ({ value }));
    } catch (error) {
      if (outcomes.length === 1 || database.codec.errorKind(error) === 'unavailable') throw error;
      const settled: GroupOutcome<Settled>[] = [];
      for (const outcome of outcomes) settled.push(await alone(outcome));
      return settled;
    }
  }, LARGEST_SETTLEMENT);
}
