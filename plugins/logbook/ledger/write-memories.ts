import type { DedupHit, DedupKey, NewMemory } from 'mortise/contracts/logbook';
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
    row.backendMemoryId === null ? 'writing' : 'active',
    row.auditId,
    row.outboxId,
    row.correlationId,
    now,
    now,
  ]);
  const inserted = await insertRows<{ memory_key: string }>(database, target, bindings, options);
  return new Set(inserted.map(({ memory_key }) => memory_key));
}

interface HitColumns {
  readonly place: number;
  readonly memory_key: string;
  readonly state: DedupHit['state'];
  readonly backend_memory_id: string | null;
  readonly outbox_id: number | null;
}

/** States are spelled out so that the partial unique index is used. */
const matching = `m.space = k.space and m.payload_sha = k.payload_sha and m.meta_sha = k.meta_sha
  and m.state in ('writing', 'active', 'queued')`;

const texts = {
  sqlite: `select k.place, m.memory_key, m.state, m.backend_memory_id, m.outbox_id
    from (select key as place, value->>0 as space, value->>1 as payload_sha, value->>2 as meta_sha from json_each(?)) k
    cross join {logbook.memories} m on ${matching}`,
  postgres: `select k.place, m.memory_key, m.state, m.backend_memory_id, m.outbox_id
    from (select ordinality - 1 as place, value->>0 as space, value->>1 as payload_sha, value->>2 as meta_sha
      from jsonb_array_elements(?::jsonb) with ordinality) k
    join {logbook.memories} m on ${matching}`,
};

/** For each key, in order: the memory being written, queued or active under it, or null. */
export async function findDuplicates(
  database: Database,
  keys: readonly DedupKey[],
  options?: TransactionOption,
): Promise<readonly (DedupHit | null)[]> {
  const hits: (DedupHit | null)[] = keys.map(() => null);
  if (keys.length === 0) return hits;
  const bound = JSON.stringify(keys.map(({ space, payloadSha, metaSha }) => [space, payloadSha, metaSha]));
  const { rows } = await database.statement<HitColumns>(texts[database.dialect], [bound], options);
  for (const row of rows) {
    hits[row.place] = {
      memoryKey: row.memory_key,
      state: row.state,
      backendMemoryId: row.backend_memory_id,
      outboxId: row.outbox_id,
    };
  }
  return hits;
}
