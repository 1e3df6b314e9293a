import type { LedgerChange, LedgerState } from 'mortise/contracts/logbook';
import type { Database, TransactionOption } from 'mortise/sdk';
import { jsonRows } from '../json-rows.js';

/** Moves rows on in their life, those alone that are where the caller thinks they are. @returns the keys it moved. */
export async function settleMemories(
  database: Database,
  from: readonly LedgerState[],
  changes: readonly LedgerChange[],
  options?: TransactionOption,
): Promise<ReadonlySet<string>> {
  if (changes.length === 0) return new Set();
  const bound = changes.map(({ memoryKey, state, backend, backendMemoryId, outboxId, dropsPayload }) => ({
    key: memoryKey,
    state,
    backend: backend ?? null,
    id: backendMemoryId ?? null,
    outbox: outboxId ?? null,
    drops: dropsPayload === true ? '1' : '0',
  }));
  const { rows } = await database.statement<{ memory_key: string }>(
    `update {logbook.memories} as m set state = k.value->>'state', backend = coalesce(k.value->>'backend', m.backend),
       backend_memory_id = coalesce(k.value->>'id', m.backend_memory_id),
       outbox_id = coalesce(cast(k.value->>'outbox' as bigint), m.outbox_id),
       payload_md = case when k.value->>'drops' = '1' then null else m.payload_md end, updated_at = ?
     from ${jsonRows(database.dialect)} k
     where m.memory_key = k.value->>'key' and m.state in (${from.map((state) => `'${state}'`).join(', ')})
     returning memory_key`,
    [database.codec.time(Date.now()), JSON.stringify(bound)],
    options,
  );
  return new Set(rows.map(({ memory_key }) => memory_key));
}
