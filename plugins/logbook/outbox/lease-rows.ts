import type { Outbox } from 'mortise/contracts/logbook';
import { type Database, jsonTexts, type TransactionOption } from 'mortise/sdk';

type Ids = readonly number[];

/** As an expression, so that SQLite looks up the rows that are named and does not go through all that wait. */
const isPending = `coalesce(status, '') = 'pending'`;

type Held = Parameters<Outbox['releaseLeases']>[0][number];

/** Longer leases for what the worker still holds. @returns the rows it still holds. */
export async function renewLeases(
  database: Database,
  ids: Ids,
  workerId: string,
  options?: TransactionOption,
): Promise<ReadonlySet<number>> {
  if (ids.length === 0) return new Set();
  const { rows } = await database.statement<{ outbox_id: number }>(
    `update {logbook.outbox_memory} set locked_at = ${database.now.time}, updated_at = ${database.now.time}
     where outbox_id in (select cast(value as bigint) from ${jsonTexts(database.dialect)} ids)
       and ${isPending} and locked_by = ? returning outbox_id`,
    [JSON.stringify(ids), workerId],
    options,
  );
  return new Set(rows.map(({ outbox_id }) => outbox_id));
}

/** Frees rows that the worker holds and has done nothing with; they are as they were before the claim. */
export async function releaseLeases(
  database: Database,
  held: readonly Held[],
  workerId: string,
  options?: TransactionOption,
): Promise<void> {
  for (const verifyFirst of [true, false]) {
    const ids = held.filter((row) => row.verifyFirst === verifyFirst).map(({ outboxId }) => outboxId);
    if (ids.length === 0) continue;
    await database.statement(
      `update {logbook.outbox_memory} set locked_at = null, locked_by = null, verify_first = ?,
         updated_at = ${database.now.time}
       where outbox_id in (select cast(value as bigint) from ${jsonTexts(database.dialect)} ids)
         and ${isPending} and locked_by = ?`,
      [verifyFirst, JSON.stringify(ids), workerId],
      options,
    );
  }
}
