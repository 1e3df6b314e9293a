import {
  brief,
  type Evidence,
  type JournalLine,
  type LedgerRow,
  memoryOf,
  type OutboxRow,
  spaceOf,
  type Told,
} from '../evidence.js';
import { groupBy } from '../group-by.js';

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

/** What of the wish the backend's memory does not have. */
function missing({ text, space, kind, meta, evidence, actor }: Told, line: JournalLine): string | null {
  if (line.content !== text) return 'text';
  if (spaceOf(line) !== space) return 'space';
  if (line.metadata.kind !== kind) return 'kind';
  if (!isSame(line.metadata.evidence, evidence)) return 'evidence';
  if ((line.metadata.actor_user_id ?? null) !== actor) return 'actor';
  return Object.entries(meta).every(([name, value]) => isSame(line.metadata[name], value)) ? null : 'meta';
}

/** What of the wish a row of the product's own books does not have. */
function missingInRow({ kind, meta, evidence, actor, itemId }: Told, row: LedgerRow | OutboxRow): string | null {
  if (row.kind !== kind) return 'kind';
  if (!isSame(JSON.parse(row.meta_json), meta)) return 'meta';
  if (!isSame(JSON.parse(row.evidence_json), evidence)) return 'evidence';
  if (row.actor_user_id !== actor) return 'actor';
  return row.item_id === itemId ? null : 'item';
}

function inBackend(told: Told, memoryId: string | null, { lines }: Kept): string | null {
  const line = lines.get(memoryId ?? '')?.[0];
  if (line === undefined) return `is not in the backend under ${memoryId}`;
  const lacks = missing(told, line);
  return lacks === null ? null : `is in the backend as ${memoryId} with another ${lacks}`;
}

/** Why a promise was not kept; null when it was. */
function broken(told: Told, kept: Kept): string | null {
  if (told.promised === 'nothing') return null;
  if (told.promised === 'stored') {
    const { memoryId, space, text } = told;
    const rows = kept.active.get(memoryOf(space, text)) ?? [];
    const row = rows.find(({ backend_memory_id }) => backend_memory_id === memoryId);
    if (row === undefined) return `is not active in the ledger as ${memoryId}`;
    const lacks = missingInRow(told, row);
    return lacks === null ? inBackend(told, memoryId, kept) : `is in the ledger with another ${lacks}`;
  }
  const row = kept.waiting.get(told.outboxId ?? '');
  if (row === undefined) return `is not in the outbox as ${told.outboxId}`;
  if (row.payload_md !== told.text || row.target_space !== told.space)
    return `is another in the outbox (${told.outboxId})`;
  const lacks = missingInRow(told, row);
  if (lacks !== null) return `is in the outbox (${told.outboxId}) with another ${lacks}`;
  if (told.promised === 'dead' && row.status !== 'dead') return `was a dead letter and is ${row.status} now`;
  // A row that is neither sent nor dead is the outbox rule's.
  return row.status === 'sent' ? inBackend(told, row.memory_id, kept) : null;
}

/** Everything that was acknowledged is where the answer said, with all that belongs to it. */
export function* kept({ journal, ledger, outbox, told }: Evidence): Iterable<string> {
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
  for (const one of told) {
    const why = broken(one, found);
    if (why !== null) yield `${brief(one.text)} was acknowledged as ${one.promised} and ${why}.`;
  }
}
