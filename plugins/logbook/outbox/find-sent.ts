import { type Database, jsonTexts, type TransactionOption } from 'mortise/sdk';

export interface SentBefore {
  readonly outboxId: number;
  readonly memoryId: string | null;
}

interface SentColumns {
  readonly repeats: number;
  readonly outbox_id: number;
  readonly memory_id: string | null;
}

/** What was sent and lost by the backend for good is in the ledger as void: it is no reason not to send the same again. */
const isKept = (row: string) =>
  `not exists (select 1 from {logbook.memories} lost where lost.memory_key = ${row}.memory_key and lost.state = 'void')`;

/** A cross join is one whose order SQLite keeps: the few rows first. Left to itself it begins with all that were sent. */
const joins = { sqlite: 'cross join', postgres: 'join' };

/**
 * For each row, the first that was sent with the same space, text and meta. A memory that is sent again because the
 * backend lost it does not repeat its own earlier delivery.
 */
export async function findSent(
  database: Database,
  ids: readonly number[],
  options?: TransactionOption,
): Promise<ReadonlyMap<number, SentBefore>> {
  const found = new Map<number, SentBefore>();
  if (ids.length === 0) return found;
  const { rows } = await database.statement<SentColumns>(
    `select o.outbox_id as repeats, s.outbox_id, s.memory_id from {logbook.outbox_memory} o
     ${joins[database.dialect]} {logbook.outbox_memory} s on s.target_space = o.target_space and s.payload_sha = o.payload_sha
       and s.meta_sha = o.meta_sha and s.status = 'sent' and s.outbox_id <> o.outbox_id
       and (s.memory_key is null or o.memory_key is null or s.memory_key <> o.memory_key)
       and ${isKept('s')}
     where o.outbox_id in (select cast(value as bigint) from ${jsonTexts(database.dialect)} ids)
     order by s.outbox_id`,
    [JSON.stringify(ids)],
    options,
  );
  for (const { repeats, outbox_id, memory_id } of rows) {
    if (!found.has(repeats)) found.set(repeats, { outboxId: outbox_id, memoryId: memory_id });
  }
  return found;
}

/** The first that was sent with this space, text and meta. */
export async function checkDedup(
  database: Database,
  key: { readonly space: string; readonly payloadSha: string; readonly metaSha: string },
  options?: TransactionOption,
): Promise<SentBefore | null> {
  const { rows } = await database.statement<SentColumns>(
    `select outbox_id, memory_id from {logbook.outbox_memory} s
     where target_space = ? and payload_sha = ? and meta_sha = ? and status = 'sent' and ${isKept('s')}
     order by outbox_id limit 1`,
    [key.space, key.payloadSha, key.metaSha],
    options,
  );
  return rows[0] === undefined ? null : { outboxId: rows[0].outbox_id, memoryId: rows[0].memory_id };
}
