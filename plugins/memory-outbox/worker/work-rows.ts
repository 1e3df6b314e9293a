import type { Delivery, FailedDelivery } from 'mortise/sdk';
import { ackRows, type Delivered } from '../flush/ack-rows.js';
import { buryRow } from '../flush/bury-row.js';
import type { Attempt } from '../flush/flush-audit.js';
import { judgeFailure } from '../flush/judge-failure.js';
import { noteDatabaseError } from '../flush/note-database-error.js';
import { retryRow } from '../flush/retry-row.js';
import type { OutboxParts } from '../parts.js';
import { deliverRows, itemOf } from './deliver-rows.js';
import { addTally, emptyTally, type Tally } from './tally.js';

/** Rows whose memory was sent before. */
async function findDuplicates(attempts: readonly Attempt[], { logbook }: OutboxParts): Promise<readonly Delivered[]> {
  const sent = await logbook.outbox.findSent(attempts.map(({ row }) => row.outboxId));
  return attempts.flatMap((attempt) => {
    const before = sent.get(attempt.row.outboxId);
    if (before === undefined || before.memoryId === null) return [];
    return [{ attempt, memoryId: before.memoryId, duplicateOf: before.outboxId }];
  });
}

async function acknowledge(delivered: readonly Delivered[], parts: OutboxParts): Promise<Partial<Tally>> {
  if (delivered.length === 0) return {};
  const sent = await parts.database.transaction((trx) => ackRows(delivered, parts, trx));
  return { sent, conflicts: delivered.length - sent };
}

/** Writes down one failure, in a transaction of its own. */
async function settleFailure(attempt: Attempt, failed: FailedDelivery, parts: OutboxParts): Promise<Partial<Tally>> {
  const { database, logbook, config } = parts;
  const now = await logbook.outbox.clock();
  const verdict = judgeFailure(attempt.row, failed, config, { now, random: parts.random() });
  const isOurs = await database.transaction((trx) =>
    verdict.kind === 'dead' ? buryRow(attempt, verdict, parts, trx) : retryRow(attempt, verdict, parts, trx),
  );
  if (!isOurs) return { conflicts: 1 };
  return verdict.kind === 'dead' ? { dead: 1 } : { retried: 1 };
}

/** The row was taken by somebody else while its memory was about to be stored with it. */
class RowLost extends Error {}

/** A backend in our own database stores and acknowledges in one transaction. */
async function storeWithAck(attempt: Attempt, parts: OutboxParts): Promise<Partial<Tally>> {
  const { database, memory } = parts;
  try {
    await database.transaction(async (trx) => {
      const { id } = await memory.store(itemOf(attempt.row), { trx });
      const delivered = [{ attempt, memoryId: id, duplicateOf: null }];
      if ((await ackRows(delivered, parts, trx)) === 0) throw new RowLost();
    });
    return { sent: 1 };
  } catch (error) {
    // What was stored went with the transaction; what is left to do is to say so.
    if (error instanceof RowLost) return acknowledge([{ attempt, memoryId: '', duplicateOf: null }], parts);
    if (database.codec.errorKind(error) !== 'other') throw error;
    return settleFailure(attempt, memory.failure(error), parts);
  }
}

async function send(
  attempts: readonly Attempt[],
  duplicates: readonly Delivered[],
  signal: AbortSignal,
  parts: OutboxParts,
): Promise<Tally> {
  const tally = emptyTally();
  if (parts.memory.facts()?.capabilities.transactional === true) {
    for (const attempt of attempts) addTally(tally, await storeWithAck(attempt, parts));
    addTally(tally, await acknowledge(duplicates, parts));
    return tally;
  }
  const deliveries: readonly (readonly [Attempt, Delivery])[] = [...(await deliverRows(attempts, signal, parts))];
  const stored = deliveries.flatMap(([attempt, delivery]) =>
    delivery.kind === 'stored' ? [{ attempt, memoryId: delivery.id, duplicateOf: null }] : [],
  );
  // Only now, together: a row that is settled counts as lost while the others of its group are still being sent.
  addTally(tally, await acknowledge([...duplicates, ...stored], parts));
  for (const [attempt, delivery] of deliveries) {
    if (delivery.kind === 'failed') addTally(tally, await settleFailure(attempt, delivery, parts));
  }
  return tally;
}

/** Delivers rows that the worker holds, none of which repeats another, and writes down what came of each. */
export async function workRows(attempts: readonly Attempt[], signal: AbortSignal, parts: OutboxParts): Promise<Tally> {
  const tally = emptyTally();
  try {
    const duplicates = await findDuplicates(attempts, parts);
    const repeated = new Set(duplicates.map(({ attempt }) => attempt));
    const unsent = attempts.filter((attempt) => !repeated.has(attempt));
    addTally(tally, await send(unsent, duplicates, signal, parts));
  } catch (error) {
    addTally(tally, { errors: attempts.length });
    await noteDatabaseError(attempts, error, parts);
  }
  return tally;
}
