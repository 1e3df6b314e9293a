import type { DedupHit, DedupKey } from 'mortise/contracts/logbook';
import type { Database, TransactionOption } from 'mortise/sdk';

interface HitColumns {
  readonly place: number;
  readonly memory_key: string;
  readonly state: DedupHit['state'];
  readonly backend_memory_id: string | null;
  readonly outbox_id: number | null;
}

/** The states are spelled out so that the partial unique index serves the look-up. */
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

/** One answer for each key, in order: the memory that is written, queued or active under it, or null. */
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
