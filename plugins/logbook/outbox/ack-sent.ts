import type { Sent } from 'mortise/contracts/logbook';
import type { Database, TransactionOption } from 'mortise/sdk';
import { jsonRows } from '../json-rows.js';

/**
 * The backend has these memories: only rows that are pending and held by the worker change. @returns those.
 *
 * A text that is not to be kept goes with the acknowledgement; its hash stays, by which repeats are known.
 *
 * The status is compared as an expression. By its bare column SQLite would go through all rows that wait, and through
 * the whole list for each: 14 s for 100 of 100,000 rows, where looking up the few that are named takes half a
 * millisecond.
 */
export async function ackSent(
  database: Database,
  sent: readonly Sent[],
  workerId: string,
  options?: TransactionOption,
): Promise<ReadonlySet<number>> {
  if (sent.length === 0) return new Set();
  const bound = sent.map(({ outboxId, memoryId, dropsPayload }) => ({
    outboxId,
    memoryId,
    drops: dropsPayload === true ? '1' : '0',
  }));
  const { rows } = await database.statement<{ outbox_id: number }>(
    `update {logbook.outbox_memory} as o set status = 'sent', memory_id = k.value->>'memoryId',
       last_error = 'memory_id=' || (k.value->>'memoryId'), last_error_class = null, verify_first = ?,
       payload_md = case when k.value->>'drops' = '1' then '' else o.payload_md end, sent_at = ${database.now.time}, updated_at = ${database.now.time}, locked_at = null, locked_by = null
     from ${jsonRows(database.dialect)} k
     where o.outbox_id = cast(k.value->>'outboxId' as bigint) and coalesce(o.status, '') = 'pending'
       and o.locked_by = ?
     returning outbox_id`,
    [false, JSON.stringify(bound), workerId],
    options,
  );
  return new Set(rows.map(({ outbox_id }) => outbox_id));
}
