import type { Evidence, OutboxRow } from '../evidence.js';

function flaw(row: OutboxRow, idsInBackend: ReadonlySet<string>): string | null {
  if (row.locked_by !== null) return `is still held by ${row.locked_by}`;
  if (row.status === 'sent') {
    return idsInBackend.has(row.memory_id ?? '') ? null : `was sent, and the backend has no ${row.memory_id}`;
  }
  if (row.status !== 'dead') return `is ${row.status}`;
  return (row.last_error ?? '') !== '' && row.dead_at !== null ? null : 'is dead without a reason';
}

/** Every row of the outbox was delivered, or is dead with a reason. */
export function* outbox({ outbox, journal }: Evidence): Iterable<string> {
  const ids = new Set(journal.filter((line) => line.as === 'stored').map(({ id }) => id));
  for (const row of outbox) {
    const why = flaw(row, ids);
    if (why !== null) yield `Outbox row ${row.outbox_id} ${why}.`;
  }
}
