import type { OutboxClaim, OutboxWish } from 'mortise/contracts/logbook';
import { type Database, jsonTexts, type Transaction } from 'mortise/sdk';
import { movedNow } from '../database-time.js';
import { type OutboxColumns, outboxRowOf, returnedColumns } from './outbox-columns.js';

/** Without statistics SQLite takes the index of the statuses, reads all rows that wait, and sorts them. */
const indexes = { sqlite: 'indexed by logbook_outbox_due', postgres: '' };

/** What the claim changes, as it was before; the rest is read once, as the claim leaves it. */
type DueColumns = Pick<OutboxColumns, 'outbox_id' | 'locked_at' | 'locked_by' | 'verify_first'> & {
  readonly now_millis: number;
};

/**
 * Leases due rows in the caller's transaction. Claims go one at a time: a row whose twin (same space, text and meta) is
 * held must stay, and of two claims side by side neither would see the other's. Row locks alone cannot say that.
 *
 * While a row is held it is marked to be looked up first, whoever frees it: only its holder knows whether it was sent.
 * The claim answers with the mark as it was, or set where a lease had run out.
 */
export async function claimOutbox(database: Database, wish: OutboxWish, trx: Transaction): Promise<OutboxClaim> {
  const { workerId, batchSize, leaseSeconds, except = [] } = wish;
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
