import type { DeliveredMemory, LedgerState, MemoryLedger } from 'mortise/contracts/logbook';
import type { Database, TransactionOption } from 'mortise/sdk';
import { jsonRows } from '../sql.js';

/** The changes of state of a ledger row. `writing` is never entered again, and `void` is never left. */
type Transitions = Pick<
  MemoryLedger,
  'activate' | 'queue' | 'moveToDeadLetter' | 'markMerged' | 'requeue' | 'markVoid'
>;

/** Marks memories as stored by a backend, in one statement for all. @returns the changed keys. */
async function activate(
  database: Database,
  delivered: readonly DeliveredMemory[],
  options?: TransactionOption,
): Promise<ReadonlySet<string>> {
  if (delivered.length === 0) return new Set();
  const bound = delivered.map(({ memoryKey, backend, backendMemoryId, dropsPayload }) => ({
    key: memoryKey,
    backend,
    id: backendMemoryId,
    drops: dropsPayload ? '1' : '0',
  }));
  const { rows } = await database.statement<{ memory_key: string }>(
    `update {logbook.memories} as m set state = 'active', backend = k.value->>'backend',
       backend_memory_id = k.value->>'id',
       payload_md = case when k.value->>'drops' = '1' then null else m.payload_md end, updated_at = ?
     from ${jsonRows(database.dialect)} k
     where m.memory_key = k.value->>'key' and m.state in ('writing', 'queued')
     returning memory_key`,
    [database.codec.time(Date.now()), JSON.stringify(bound)],
    options,
  );
  return new Set(rows.map(({ memory_key }) => memory_key));
}

/** Changes the state of one row and, unless it is null, its outbox row. @returns whether it was in one of the states `from`. */
async function move(
  database: Database,
  memory: { readonly memoryKey: string; readonly outboxId: number | null },
  [from, to]: readonly [from: readonly LedgerState[], to: LedgerState],
  options?: TransactionOption,
): Promise<boolean> {
  const { changes } = await database.statement(
    `update {logbook.memories} set state = '${to}', outbox_id = coalesce(cast(? as bigint), outbox_id), updated_at = ?
     where memory_key = ? and state in (${from.map((state) => `'${state}'`).join(', ')})`,
    [memory.outboxId, database.codec.time(Date.now()), memory.memoryKey],
    options,
  );
  return changes > 0;
}

const toQueued = [['writing', 'active'], 'queued'] as const;
const toDead = [['writing', 'queued'], 'dead'] as const;
const toMerged = [['writing', 'queued'], 'merged'] as const;
const backToQueued = [['dead', 'merged'], 'queued'] as const;
const toVoid = [['active'], 'void'] as const;

/** The only place where the state of a ledger row changes; what each operation means is in its contract. */
export function ledgerTransitions(database: Database): Transitions {
  return {
    activate: (delivered, options) => activate(database, delivered, options),
    queue: (memoryKey, outboxId, options) => move(database, { memoryKey, outboxId }, toQueued, options),
    moveToDeadLetter: (memoryKey, outboxId, options) => move(database, { memoryKey, outboxId }, toDead, options),
    markMerged: (memoryKey, outboxId, options) => move(database, { memoryKey, outboxId }, toMerged, options),
    requeue: (memoryKey, options) => move(database, { memoryKey, outboxId: null }, backToQueued, options),
    markVoid: (memoryKey, options) => move(database, { memoryKey, outboxId: null }, toVoid, options),
  };
}
