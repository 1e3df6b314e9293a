import type { NewOutboxRow } from 'mortise/contracts/logbook';
import { type Database, jsonTexts, type TransactionOption } from 'mortise/sdk';
import { movedNow } from '../sql.js';

/** Stores a memory that the backend did not accept, as pending or as a dead letter. @returns the outbox id. */
export async function enqueueMemory(
  database: Database,
  row: NewOutboxRow,
  options?: TransactionOption,
): Promise<number> {
  const { codec, now } = database;
  const isDead = row.status === 'dead';
  const { rows } = await database.statement<{ outbox_id: number }>(
    `insert into {logbook.outbox_memory} (memory_key, target_space, requested_space, payload_md, payload_sha, meta_sha,
       kind, meta_json, evidence_json, actor_user_id, principal, item_id, correlation_id, status, last_error, last_error_class,
       verify_first, next_attempt_at, created_at, updated_at, dead_at)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ${movedNow(database)}, ${now.time}, ${now.time},
       ${isDead ? now.time : 'null'})
     returning outbox_id`,
    [
      row.memoryKey,
      row.space,
      row.requestedSpace,
      row.payload,
      row.payloadSha,
      row.metaSha,
      row.kind,
      codec.json(row.meta),
      codec.json(row.evidence),
      row.actorUserId,
      row.principal,
      row.itemId,
      row.correlationId,
      row.status,
      row.lastError,
      row.lastErrorClass,
      row.verifyFirst,
      row.delaySeconds,
    ],
    options,
  );
  return rows[0]?.outbox_id ?? 0;
}

interface SentBefore {
  readonly outboxId: number;
  readonly memoryId: string | null;
}

interface SentColumns {
  readonly repeats: number;
  readonly outbox_id: number;
  readonly memory_id: string | null;
}

/** A memory that the backend lost for good is `void` in the ledger and does not count as sent. */
const isNotLost = (row: string) =>
  `not exists (select 1 from {logbook.memories} lost where lost.memory_key = ${row}.memory_key and lost.state = 'void')`;

/** SQLite keeps the order of a cross join: the few rows first. Otherwise it starts from every sent row. */
const joins = { sqlite: 'cross join', postgres: 'join' };

/**
 * For each row, the first sent row with the same space, text and meta. A memory that is sent again because the backend
 * lost it is not a duplicate of its own earlier delivery.
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
       and ${isNotLost('s')}
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

/** The first sent row with this space, text and meta. */
export async function checkDedup(
  database: Database,
  key: { readonly space: string; readonly payloadSha: string; readonly metaSha: string },
  options?: TransactionOption,
): Promise<SentBefore | null> {
  const { rows } = await database.statement<SentColumns>(
    `select outbox_id, memory_id from {logbook.outbox_memory} s
     where target_space = ? and payload_sha = ? and meta_sha = ? and status = 'sent' and ${isNotLost('s')}
     order by outbox_id limit 1`,
    [key.space, key.payloadSha, key.metaSha],
    options,
  );
  return rows[0] === undefined ? null : { outboxId: rows[0].outbox_id, memoryId: rows[0].memory_id };
}
