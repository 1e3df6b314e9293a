import type { FailedDelivery } from 'mortise/contracts/memory-gateway';
import type { Transaction } from 'mortise/sdk';
import type { OutboxParts } from '../parts.js';
import { ackRows, type Delivered } from './ack-rows.js';
import { buryRow } from './bury-row.js';
import type { Attempt } from './flush-audit.js';
import { judgeFailure } from './judge-failure.js';
import { retryRow } from './retry-row.js';

/** What came of an attempt, not written down yet. */
export type Outcome =
  | Delivered
  | { readonly kind: 'undelivered'; readonly attempt: Attempt; readonly failed: FailedDelivery };

/** What became of its row. */
export type Settled = 'sent' | 'retried' | 'dead' | 'conflicts';

async function settleFailure(
  { attempt, failed }: Extract<Outcome, { readonly kind: 'undelivered' }>,
  now: number,
  parts: OutboxParts,
  trx: Transaction,
): Promise<Settled> {
  const verdict = judgeFailure(attempt.row, failed, parts.config, { now, random: parts.random() });
  if (verdict.kind === 'dead') return (await buryRow(attempt, verdict, parts, trx)) ? 'dead' : 'conflicts';
  return (await retryRow(attempt, verdict, now, parts, trx)) ? 'retried' : 'conflicts';
}

/**
 * Writes down what came of attempts, in the caller's transaction: those that were delivered in a few statements for all,
 * each failure in its own. @returns what became of each, in order.
 */
export async function settleAttempts(
  outcomes: readonly Outcome[],
  parts: OutboxParts,
  trx: Transaction,
): Promise<readonly Settled[]> {
  const delivered = outcomes.filter((outcome) => outcome.kind === 'delivered');
  const acked = await ackRows(delivered, parts, trx);
  const now = delivered.length === outcomes.length ? 0 : await parts.logbook.outbox.clock({ trx });
  const settled: Settled[] = [];
  for (const outcome of outcomes) {
    if (outcome.kind === 'undelivered') settled.push(await settleFailure(outcome, now, parts, trx));
    else settled.push(acked.has(outcome.attempt) ? 'sent' : 'conflicts');
  }
  return settled;
}
