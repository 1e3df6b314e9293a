import type { ClaimRequest, Outbox, OutboxClaim } from 'mortise/contracts/logbook';
import { type Database, jsonTexts, type Transaction, type TransactionOption } from 'mortise/sdk';
import { movedNow } from '../sql.js';
import { type OutboxColumns, outboxRowOf, returnedColumns } from './read-rows.js';

/** Without statistics SQLite picks the status index, reads every pending row and sorts. */
const indexes = { sqlite: 'indexed by logbook_outbox_due', postgres: '' };

/** Columns that the claim changes, as they were before it. */
type DueColumns = Pick<OutboxColumns, 'outbox_id' | 'locked_at' | 'locked_by' | 'verify_first'> & {
  readonly now_millis: number;
};

/**
 * Leases due rows in the caller's transaction. Claims are serialised: a row whose duplicate (same space, text and meta) is
 * leased must stay unclaimed, and two concurrent claims would not see each other's leases. Row locks cannot express that.
 *
 * A leased row is marked `verify_first`, because only its holder knows whether it was sent. The claim returns the mark as
 * it was before, or set when an expired lease was taken over.
 */
export async function claimOutbox(database: Database, request: ClaimRequest, trx: Transaction): Promise<OutboxClaim> {
  const { workerId, batchSize, leaseSeconds, except = [] } = request;
  const isServer = database.dialect === 'postgres';
  if (isServer)
    await database.statement(`select pg_advisory_xact_lock(hashtextextended('outbox-claim', 0))`, [], { trx });
  const expired = movedNow(database);
  const due = await database.statement<DueColumns>(
    `select o.outbox_id, o.locked_at, o.locked_by, o.verify_first, ${database.now.millis} as now_millis from {logbook.outbox_memory} o ${indexes[database.dialect]}
     where o.status = 'pending' and o.next_attempt_at <= ${database.now.time}
       and (o.locked_at is null or o.locked_at < ${expired})
       and o.outbox_id not in (select cast(value as bigint) from ${jsonTexts(database.dialect)} kept)
       and not exists (
         select 1 from {logbook.outbox_memory} held
         where held.target_space = o.target_space and held.payload_sha = o.payload_sha and held.meta_sha = o.meta_sha
           and held.outbox_id <> o.outbox_id and held.status = 'pending' and held.locked_at >= ${expired})
     order by o.next_attempt_at, o.outbox_id limit ? ${isServer ? 'for update of o skip locked' : ''}`,
    [-leaseSeconds, JSON.stringify(except), -leaseSeconds, batchSize],
    { trx },
  );
  if (due.rows.length === 0) return { rows: [], now: 0 };
  const { rows } = await database.statement<OutboxColumns>(
    `update {logbook.outbox_memory} set locked_by = ?, locked_at = ${database.now.time},
       updated_at = ${database.now.time}, verify_first = ?
     where outbox_id in (select cast(value as bigint) from ${jsonTexts(database.dialect)} ids)
     returning ${returnedColumns}`,
    [workerId, true, JSON.stringify(due.rows.map(({ outbox_id }) => outbox_id))],
    { trx },
  );
  const claimed = new Map(rows.map((row) => [row.outbox_id, row]));
  return {
    now: due.rows[0]?.now_millis ?? 0,
    rows: due.rows.flatMap((before) => {
      const row = claimed.get(before.outbox_id);
      const lockedAt = database.codec.parseTime(before.locked_at);
      if (row === undefined) return [];
      const takenOverFrom = lockedAt === null ? null : { lockedBy: before.locked_by, lockedAt };
      const verifyFirst = takenOverFrom !== null || database.codec.parseFlag(before.verify_first);
      return [{ ...outboxRowOf(database, row), verifyFirst, takenOverFrom }];
    }),
  };
}

type Ids = readonly number[];

/** As an expression, so that SQLite looks rows up by id instead of scanning every pending row. */
const isPending = `coalesce(status, '') = 'pending'`;

type Held = Parameters<Outbox['releaseLeases']>[0][number];

/** Extends the leases that the worker still holds. @returns their ids. */
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

/** Releases untouched rows, in the state they had before the claim. */
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
