import { createTransactionGroup, type GroupCommit } from 'mortise/sdk';
import type { OutboxParts } from '../parts.js';
import { type Outcome, type Settled, settleAttempts } from './settle-attempts.js';

/** Records the outcomes of attempts; those that end while others are being recorded share one transaction. */
export type Settler = Pick<GroupCommit<Outcome, Settled>, 'submit'>;

/** Rows of one transaction: a few batches of a backend that takes many, whose commits cost more than their rows. */
const LARGEST_SETTLEMENT = 400;

/** An outbox row, its ledger row and its audit row always change in one transaction. */
export function createSettler(parts: OutboxParts): Settler {
  return createTransactionGroup<Outcome, Settled>(
    parts.database,
    (outcomes, trx) => settleAttempts(outcomes, parts, trx),
    { largest: LARGEST_SETTLEMENT },
  );
}
