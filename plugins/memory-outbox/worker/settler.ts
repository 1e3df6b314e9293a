import { createTransactionGroup, type GroupCommit } from 'mortise/sdk';
import type { OutboxDeps } from '../outbox-deps.js';
import { type Outcome, type Settled, settleAttempts } from './settle.js';

/** Records results of attempts; those that end while a transaction is running share the next one. */
export type Settler = Pick<GroupCommit<Outcome, Settled>, 'submit'>;

/** Rows per transaction: a few batches of a backend that accepts many. */
const LARGEST_SETTLEMENT = 400;

/** An outbox row, its ledger row and its audit row always change in one transaction. */
export function createSettler(deps: OutboxDeps): Settler {
  return createTransactionGroup<Outcome, Settled>(
    deps.database,
    (outcomes, trx) => settleAttempts(outcomes, deps, trx),
    { largest: LARGEST_SETTLEMENT },
  );
}
