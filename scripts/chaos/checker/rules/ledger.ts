import { type Evidence, type LedgerRow, memoryOf, spaceOf } from '../evidence.js';

interface Known {
  /** Id → memory. */
  readonly inBackend: ReadonlyMap<string, string>;
  readonly deadLetters: ReadonlySet<string>;
}

function flaw(row: LedgerRow, { inBackend, deadLetters }: Known): string | null {
  switch (row.state) {
    case 'active': {
      const memory = memoryOf(row.space, row.payload_md ?? '');
      return inBackend.get(row.backend_memory_id ?? '') === memory
        ? null
        : `is active as ${row.backend_memory_id}, but differs in the backend`;
    }
    case 'dead':
    case 'merged':
      return deadLetters.has(row.outbox_id ?? '') ? null : `is ${row.state} without a dead letter`;
    default:
      return `is ${row.state}`;
  }
}

/** Every ledger row is final and correct, and every memory of the backend has one. */
export function* ledger({ ledger, journal, outbox }: Evidence): Iterable<string> {
  const stored = journal.filter((line) => line.as === 'stored');
  const known = {
    inBackend: new Map(stored.map((line) => [line.id, memoryOf(spaceOf(line), line.content)])),
    deadLetters: new Set(outbox.filter(({ status }) => status === 'dead').map(({ outbox_id }) => outbox_id)),
  };
  for (const row of ledger) {
    const why = flaw(row, known);
    if (why !== null) yield `Memory ${row.memory_key} ${why}.`;
  }
  const keys = new Set(ledger.map(({ memory_key }) => memory_key));
  for (const { id, metadata } of stored) {
    if (!keys.has(String(metadata.mortise_key))) yield `The backend's ${id} is not in the ledger.`;
  }
}
