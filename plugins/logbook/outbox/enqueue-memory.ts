import type { NewOutboxRow } from 'mortise/contracts/logbook';
import type { Database, TransactionOption } from 'mortise/sdk';
import { movedNow } from '../database-time.js';

/** Keeps a memory that the backend did not take: waiting for it, or as a dead letter. @returns its outbox id. */
export async function enqueueMemory(
  database: Database,
  row: NewOutboxRow,
  options?: TransactionOption,
): Promise<number> {
  const { codec, now } = database;
  const isDead = row.status === 'dead';
  const { rows } = await database.statement<{ outbox_id: number }>(
    `insert into {logbook.outbox_memory} (memory_key, target_space, requested_space, payload_md, payload_sha, meta_sha,
       kind, meta_json, evidence_json, actor_user_id, item_id, correlation_id, status, last_error, last_error_class,
       verify_first, next_attempt_at, created_at, updated_at, dead_at)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ${movedNow(database)}, ${now.time}, ${now.time},
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
