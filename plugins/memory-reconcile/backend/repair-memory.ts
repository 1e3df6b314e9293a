import { hash } from 'node:crypto';
import type { LedgerMemory } from 'mortise/contracts/logbook';
import type { ReconcileParts } from '../parts.js';
import type { BackendFinding } from './compare-memory.js';
import { repairEntry } from './repair-entry.js';

/** The memory was changed by somebody else meanwhile. */
class ChangedMeanwhile extends Error {}

/** Whether the ledger still has the very text that should be in the backend. */
function hasText({ payload, payloadSha }: LedgerMemory): boolean {
  return payload !== null && hash('sha256', payload, 'hex') === payloadSha;
}

/**
 * Puts a memory that the backend lost or altered into the outbox again: outbox row, audit row and ledger row together.
 * @returns false when it cannot be repaired, or need not be any more.
 */
export async function repairMemory(
  memory: LedgerMemory,
  { finding }: BackendFinding,
  { database, logbook, audit }: ReconcileParts,
): Promise<boolean> {
  if ((finding !== 'missing' && finding !== 'altered') || !hasText(memory)) return false;
  try {
    await database.transaction(async (trx) => {
      const outboxId = await logbook.outbox.enqueueMemory(
        {
          ...memory,
          payload: memory.payload ?? '',
          requestedSpace: memory.space,
          status: 'pending',
          lastError: `content_${finding}`,
          lastErrorClass: null,
          // A look into the backend would find what is wrong there.
          verifyFirst: false,
          delaySeconds: 0,
        },
        { trx },
      );
      const { memoryKey } = memory;
      const settled = await logbook.ledger.settle(['active'], [{ memoryKey, state: 'queued', outboxId }], { trx });
      if (!settled.has(memoryKey)) throw new ChangedMeanwhile();
      const entry = repairEntry(memory, finding, { action: 'redirect', status: 'redirected', outboxId });
      await audit.write(entry, { trx });
    });
    return true;
  } catch (error) {
    if (error instanceof ChangedMeanwhile) return false;
    throw error;
  }
}
