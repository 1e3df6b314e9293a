import type { OutboxDeps } from '../outbox-deps.js';
import { type Attempt, addTally, emptyTally, type Tally } from './attempt.js';
import { findDuplicates, type WaitingAttempt } from './claim.js';
import { deliverRows, itemOf } from './deliver-rows.js';
import type { RowLeases } from './row-leases.js';
import type { Settler } from './settle.js';
import { ackRows, type Delivered, type Outcome, recordDatabaseError } from './settle.js';

/** Dependencies of processing rows. */
interface WorkDeps {
  readonly deps: OutboxDeps;
  readonly settler: Settler;
  readonly leases: RowLeases;
  /** Called when the backend call has ended and only recording is left. */
  callEnded(): void;
}

/** Another worker took the row over during the transaction. */
class RowLost extends Error {}

/** Stores and acknowledges in one transaction, for a transactional backend. Undefined: done. */
async function storeWithAck(attempt: Attempt, deps: OutboxDeps): Promise<Outcome | undefined> {
  const { database, memory } = deps;
  try {
    await database.transaction(async (trx) => {
      const { id } = await memory.store(itemOf(attempt.row), { trx });
      const delivered = [{ kind: 'delivered', attempt, memoryId: id, duplicateOf: null }] as const;
      if ((await ackRows(delivered, deps, trx)).size === 0) throw new RowLost();
    });
    return undefined;
  } catch (error) {
    // The store was rolled back; only the conflict remains to be recorded.
    if (error instanceof RowLost) return { kind: 'delivered', attempt, memoryId: '', duplicateOf: null };
    if (database.codec.errorKind(error) !== 'other') throw error;
    return { kind: 'undelivered', attempt, failed: memory.failure(error) };
  }
}

/** Results of a batch. */
interface Sending {
  readonly outcomes: readonly Outcome[];
  /** Rows already recorded. */
  readonly sent: number;
  /** Rows not sent because their lease was lost. */
  readonly conflicts: number;
}

/** Sends rows to the backend. */
async function send(attempts: readonly Attempt[], { deps, leases }: WorkDeps): Promise<Sending> {
  if (deps.memory.facts()?.capabilities.transactional === true) {
    const outcomes: Outcome[] = [];
    for (const attempt of attempts) {
      const outcome = await storeWithAck(attempt, deps);
      if (outcome !== undefined) outcomes.push(outcome);
    }
    return { outcomes, sent: attempts.length - outcomes.length, conflicts: 0 };
  }
  const deliveries = [...(await deliverRows(attempts, leases, deps))];
  const outcomes = deliveries.map(
    ([attempt, delivery]): Outcome =>
      delivery.kind === 'stored'
        ? { kind: 'delivered', attempt, memoryId: delivery.id, duplicateOf: null }
        : { kind: 'undelivered', attempt, failed: delivery },
  );
  return { outcomes, sent: 0, conflicts: attempts.length - outcomes.length };
}

/** Records results. Rows that cannot be recorded are retried once their leases expire. */
async function settle(outcomes: readonly Outcome[], { deps, settler, leases }: WorkDeps): Promise<Tally> {
  const tally = emptyTally();
  // Rows of one failed transaction share the error.
  const unrecorded = new Map<unknown, Attempt[]>();
  const submit = async (outcome: Outcome): Promise<void> => {
    try {
      addTally(tally, { [await settler.submit(outcome)]: 1 });
      leases.drop([outcome.attempt]);
    } catch (error) {
      unrecorded.set(error, [...(unrecorded.get(error) ?? []), outcome.attempt]);
    }
  };
  await Promise.all(outcomes.map(submit));
  for (const [error, attempts] of unrecorded) {
    addTally(tally, { errors: attempts.length });
    await recordDatabaseError(attempts, error, deps);
  }
  return tally;
}

/** Delivers held rows without duplicates among them, and records the result of each. */
export async function workRows(attempts: readonly WaitingAttempt[], work: WorkDeps): Promise<Tally> {
  const tally = emptyTally();
  try {
    const duplicates: readonly Delivered[] = await findDuplicates(attempts, work.deps);
    const duplicated = new Set<Attempt>(duplicates.map(({ attempt }) => attempt));
    const unsent = attempts.filter((attempt) => !duplicated.has(attempt));
    const { outcomes, sent, conflicts } = await send(unsent, work);
    work.callEnded();
    addTally(tally, { sent, conflicts });
    addTally(tally, await settle([...duplicates, ...outcomes], work));
  } catch (error) {
    addTally(tally, { errors: attempts.length });
    await recordDatabaseError(attempts, error, work.deps);
  }
  return tally;
}
