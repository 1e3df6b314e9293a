import {
  brief,
  type ClientRecord,
  type Evidence,
  groupBy,
  type JournalLine,
  type LedgerRow,
  memoryOf,
  type OutboxRow,
  spaceOf,
} from '../evidence.js';

interface Kept {
  readonly lines: ReadonlyMap<string, readonly JournalLine[]>;
  readonly active: ReadonlyMap<string, readonly LedgerRow[]>;
  readonly waiting: ReadonlyMap<string, OutboxRow>;
}

function isSame(a: unknown, b: unknown): boolean {
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return a === b;
  const names = Object.keys(a);
  return (
    names.length === Object.keys(b).length && names.every((name) => isSame(Reflect.get(a, name), Reflect.get(b, name)))
  );
}

/** Name of the first member that differs in the backend; null when none does. */
function missing({ text, space, kind, meta, evidence, actor }: ClientRecord, line: JournalLine): string | null {
  if (line.content !== text) return 'text';
  if (spaceOf(line) !== space) return 'space';
  if (line.metadata.kind !== kind) return 'kind';
  if (!isSame(line.metadata.evidence, evidence)) return 'evidence';
  if ((line.metadata.actor_user_id ?? null) !== actor) return 'actor';
  return Object.entries(meta).every(([name, value]) => isSame(line.metadata[name], value)) ? null : 'meta';
}

/** Name of the first member that differs in a row of the product; null when none does. */
function missingInRow(
  { kind, meta, evidence, actor, itemId }: ClientRecord,
  row: LedgerRow | OutboxRow,
): string | null {
  if (row.kind !== kind) return 'kind';
  if (!isSame(JSON.parse(row.meta_json), meta)) return 'meta';
  if (!isSame(JSON.parse(row.evidence_json), evidence)) return 'evidence';
  if (row.actor_user_id !== actor) return 'actor';
  return row.item_id === itemId ? null : 'item';
}

function inBackend(client: ClientRecord, memoryId: string | null, { lines }: Kept): string | null {
  const line = lines.get(memoryId ?? '')?.[0];
  if (line === undefined) return `is not in the backend under ${memoryId}`;
  const lacks = missing(client, line);
  return lacks === null ? null : `is in the backend as ${memoryId} with another ${lacks}`;
}

/** Why a promise was broken; null when it was kept. */
function broken(client: ClientRecord, kept: Kept): string | null {
  if (client.promised === 'nothing') return null;
  if (client.promised === 'stored') {
    const { memoryId, space, text } = client;
    const rows = kept.active.get(memoryOf(space, text)) ?? [];
    const row = rows.find(({ backend_memory_id }) => backend_memory_id === memoryId);
    if (row === undefined) return `is not active in the ledger as ${memoryId}`;
    const lacks = missingInRow(client, row);
    return lacks === null ? inBackend(client, memoryId, kept) : `is in the ledger with another ${lacks}`;
  }
  const row = kept.waiting.get(client.outboxId ?? '');
  if (row === undefined) return `is not in the outbox as ${client.outboxId}`;
  if (row.payload_md !== client.text || row.target_space !== client.space)
    return `is a different memory in the outbox (${client.outboxId})`;
  const lacks = missingInRow(client, row);
  if (lacks !== null) return `is in the outbox (${client.outboxId}) with another ${lacks}`;
  if (client.promised === 'dead' && row.status !== 'dead') return `was a dead letter and is ${row.status} now`;
  // The outbox rule reports rows that are neither sent nor dead.
  return row.status === 'sent' ? inBackend(client, row.memory_id, kept) : null;
}

/** Every acknowledged memory is where the response said, complete. */
export function* kept({ journal, ledger, outbox, clientRecords }: Evidence): Iterable<string> {
  const found: Kept = {
    lines: groupBy(
      journal.filter((line) => line.as === 'stored'),
      ({ id }) => id,
    ),
    active: groupBy(
      ledger.filter(({ state }) => state === 'active'),
      ({ space, payload_md }) => memoryOf(space, payload_md ?? ''),
    ),
    waiting: new Map(outbox.map((row) => [row.outbox_id, row])),
  };
  for (const one of clientRecords) {
    const why = broken(one, found);
    if (why !== null) yield `${brief(one.text)} was acknowledged as ${one.promised} and ${why}.`;
  }
}
