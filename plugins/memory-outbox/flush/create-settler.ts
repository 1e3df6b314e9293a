import { createGroupCommit, type GroupCommit, type GroupOutcome } from 'mortise/sdk';
import type { OutboxParts } from '../parts.js';
import { type Outcome, type Settled, settleAttempts } from './settle-attempts.js';

/** Writes down what came of attempts; those that end while others are being written down share one transaction. */
export type Settler = Pick<GroupCommit<Outcome, Settled>, 'submit'>;

/** Rows of one transaction: a few batches of a backend that takes many, whose commits cost more than their rows. */
const LARGEST_SETTLEMENT = 400;

/**
 * An outbox row, its ledger row and its audit row always change in one transaction. Which rows share it only decides how
 * many commits there are: where one of them fails, each is written down again alone, so that it undoes no other.
 */
export function createSettler(parts: OutboxParts): Settler {
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
