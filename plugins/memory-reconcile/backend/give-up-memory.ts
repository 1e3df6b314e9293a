import type { LedgerMemory } from 'mortise/contracts/logbook';
import type { ReconcileParts } from '../parts.js';
import type { BackendFinding } from './compare-memory.js';
import { repairEntry } from './repair-entry.js';

/**
 * Stops calling a memory stored whose text is nowhere any more: the backend lost it, and the ledger keeps hashes alone.
 * Whoever still has the text can store it again then; before, they were told that it is there.
 *
 * @returns false for what is there, can be repaired, or was changed meanwhile.
 */
export async function giveUpMemory(
  memory: LedgerMemory,
  { finding }: BackendFinding,
  { database, logbook, audit, memory: backend }: ReconcileParts,
): Promise<boolean> {
  if ((finding !== 'missing' && finding !== 'altered') || memory.payload !== null) return false;
  const { memoryKey, backendMemoryId } = memory;
  // Not found is not lost: only the backend itself can say that it has nothing under the id.
  if (finding === 'missing' && (await backend.get(backendMemoryId ?? '')) !== null) return false;
  return database.transaction(async (trx) => {
    const settled = await logbook.ledger.settle(['active'], [{ memoryKey, state: 'void' }], { trx });
    if (!settled.has(memoryKey)) return false;
    // No redirect: those are counted against the rows of the outbox, and there is none for it.
    await audit.write(repairEntry(memory, finding, { action: 'reject', status: 'failed' }), { trx });
    return true;
  });
}
