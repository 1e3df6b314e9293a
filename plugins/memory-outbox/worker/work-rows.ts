import { ackRows, type Delivered } from '../flush/ack-rows.js';
import type { Settler } from '../flush/create-settler.js';
import type { Attempt } from '../flush/flush-audit.js';
import { noteDatabaseError } from '../flush/note-database-error.js';
import type { Outcome } from '../flush/settle-attempts.js';
import type { OutboxParts } from '../parts.js';
import { deliverRows, itemOf } from './deliver-rows.js';
import { findDuplicates, type WaitingAttempt } from './find-duplicates.js';
import type { RowLeases } from './row-leases.js';
import { addTally, emptyTally, type Tally } from './tally.js';

/** How rows are worked on. */
export interface Workshop {
  readonly parts: OutboxParts;
  readonly settler: Settler;
  readonly leases: RowLeases;
  /** The backend is called no more; what is left is to write down what came of it. */
  called(): void;
}

/** The row was taken by somebody else while its memory was about to be stored with it. */
class RowLost extends Error {}

/** A backend in our own database stores and acknowledges in one transaction. Undefined: it did. */
async function storeWithAck(attempt: Attempt, parts: OutboxParts): Promise<Outcome | undefined> {
  const { database, memory } = parts;
  try {
    await database.transaction(async (trx) => {
      const { id } = await memory.store(itemOf(attempt.row), { trx });
      const delivered = [{ kind: 'delivered', attempt, memoryId: id, duplicateOf: null }] as const;
      if ((await ackRows(delivered, parts, trx)).size === 0) throw new RowLost();
    });
    return undefined;
  } catch (error) {
    // What was stored went with the transaction; what is left to do is to say so.
    if (error instanceof RowLost) return { kind: 'delivered', attempt, memoryId: '', duplicateOf: null };
    if (database.codec.errorKind(error) !== 'other') throw error;
    return { kind: 'undelivered', attempt, failed: memory.failure(error) };
  }
}

/** What came of rows, as far as it is left to be written down. */
interface Sending {
  readonly outcomes: readonly Outcome[];
  /** Rows that are written down already. */
  readonly sent: number;
  /** Rows that were not sent because they were the worker's no more. */
  readonly conflicts: number;
}

/** Gives the backend what it does not have yet. */
async function send(attempts: readonly Attempt[], { parts, leases }: Workshop): Promise<Sending> {
  if (parts.memory.facts()?.capabilities.transactional === true) {
    const outcomes: Outcome[] = [];
    for (const attempt of attempts) {
      const outcome = await storeWithAck(attempt, parts);
      if (outcome !== undefined) outcomes.push(outcome);
    }
    return { outcomes, sent: attempts.length - outcomes.length, conflicts: 0 };
  }
  const deliveries = [...(await deliverRows(attempts, leases, parts))];
  const outcomes = deliveries.map(
    ([attempt, delivery]): Outcome =>
      delivery.kind === 'stored'
        ? { kind: 'delivered', attempt, memoryId: delivery.id, duplicateOf: null }
        : { kind: 'undelivered', attempt, failed: delivery },
  );
  return { outcomes, sent: 0, conflicts: attempts.length - outcomes.length };
}

/** Writes down what came of rows. Those that the database lets nobody write down are left to their leases. */
async function settle(outcomes: readonly Outcome[], { parts, settler, leases }: Workshop): Promise<Tally> {
  const tally = emptyTally();
  // Rows that were to be written down together failed of the same error.
  const unwritten = new Map<unknown, Attempt[]>();
  const submit = async (outcome: Outcome): Promise<void> => {
    try {
      addTally(tally, { [await settler.submit(outcome)]: 1 });
      leases.drop([outcome.attempt]);
    } catch (error) {
      unwritten.set(error, [...(unwritten.get(error) ?? []), outcome.attempt]);
    }
  };
  await Promise.all(outcomes.map(submit));
  for (const [error, attempts] of unwritten) {
    addTally(tally, { errors: attempts.length });
    await noteDatabaseError(attempts, error, parts);
  }
  return tally;
}

/** Delivers rows that the worker holds, none of which repeats another, and writes down what came of each. */
export async function workRows(attempts: readonly WaitingAttempt[], workshop: Workshop): Promise<Tally> {
  const tally = emptyTally();
  try {
    const duplicates: readonly Delivered[] = await findDuplicates(attempts, workshop.parts);
    const repeated = new Set<Attempt>(duplicates.map(({ attempt }) => attempt));
    const unsent = attempts.filter((attempt) => !repeated.has(attempt));
    const { outcomes, sent, conflicts } = await send(unsent, workshop);
    workshop.called();
    addTally(tally, { sent, conflicts });
    addTally(tally, await settle([...duplicates, ...outcomes], workshop));
  } catch (error) {
    addTally(tally, { errors: attempts.length });
    await noteDatabaseError(attempts, error, workshop.parts);
  }
  return tally;
}
