import type { NewMemory } from 'mortise/contracts/logbook';
import { type Database, insertRows, type TransactionOption } from 'mortise/sdk';

const target = {
  table: 'logbook.memories',
  columns: [
    'memory_key',
    'space',
    'payload_md',
    'payload_sha',
    'payload_len',
    'meta_sha',
    'kind',
    'meta_json',
    'evidence_json',
    'actor_user_id',
    'item_id',
    'backend',
    'backend_memory_id',
    'state',
    'audit_id',
    'outbox_id',
    'correlation_id',
    'created_at',
    'updated_at',
  ],
  suffix: 'on conflict do nothing returning memory_key',
};

/** Inserts the rows whose dedup key is free. @returns the memory keys that were inserted. */
export async function insertMemories(
  database: Database,
  rows: readonly NewMemory[],
  options?: TransactionOption,
): Promise<ReadonlySet<string>> {
  const { codec } = database;
  const now = codec.time(Date.now());
  const bindings = rows.map((row) => [
    row.memoryKey,
    row.space,
    row.payload,
    row.payloadSha,
    row.payloadLength,
    row.metaSha,
    row.kind,
    codec.json(row.meta),
    codec.json(row.evidence),
    row.actorUserId,
    row.itemId,
    row.backend,
    row.backendMemoryId,
    row.state,
    row.auditId,
    row.outboxId,
    row.correlationId,
    now,
    now,
  ]);
  const inserted = await insertRows<{ memory_key: string }>(database, target, bindings, options);
  return new Set(inserted.map(({ memory_key }) => memory_key));
}
