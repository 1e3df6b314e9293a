import { hash } from 'node:crypto';
import type { LedgerMemory } from 'mortise/contracts/logbook';
import { type AuditEntry, platformPrincipal } from 'mortise/sdk';
import type { ReconcileDeps } from '../options.js';
import type { BackendFinding } from './compare-memory.js';

/** The audit row for a memory that the backend lost or altered. */
function repairEntry(
  memory: LedgerMemory,
  finding: 'missing' | 'altered',
  outcome: Pick<AuditEntry, 'action' | 'status'> & { readonly outboxId?: number },
): AuditEntry {
  const { memoryKey, payloadSha, correlationId } = memory;
  return {
    action: outcome.action,
    status: outcome.status,
    operation: 'backend_repair',
    reason: `OPENMEMORY_CONTENT_${finding.toUpperCase()}:${memoryKey}`,
    actorUserId: memory.actorUserId,
    targetSpace: memory.space,
    payloadSha,
    correlationId,
    memoryKey,
    evidence: {
      source: 'reconcile_outbox',
      ...(outcome.outboxId === undefined ? {} : { outbox_id: outcome.outboxId }),
      memory_key: memoryKey,
      memory_id: memory.backendMemoryId,
      correlation_id: correlationId,
      payload_sha: payloadSha,
    },
  };
}

/** The memory was changed concurrently. */
class ChangedMeanwhile extends Error {}

/** Whether the ledger still has the text that should be in the backend. */
function hasText({ payload, payloadSha }: LedgerMemory): boolean {
  return payload !== null && hash('sha256', payload, 'hex') === payloadSha;
}

/**
 * Queues a memory that the backend lost or altered: outbox row, audit row and ledger row in one transaction.
 * @returns false when it cannot be repaired or no longer needs to be.
 */
export async function repairMemory(
  memory: LedgerMemory,
  { finding }: BackendFinding,
  { database, logbook, audit }: ReconcileDeps,
): Promise<boolean> {
  if ((finding !== 'missing' && finding !== 'altered') || !hasText(memory)) return false;
  try {
    await database.transaction(async (trx) => {
      const outboxId = await logbook.outbox.enqueueMemory(
        {
          ...memory,
          payload: memory.payload ?? '',
          requestedSpace: memory.space,
          // The platform itself sends it again.
          principal: platformPrincipal.id,
          status: 'pending',
          lastError: `content_${finding}`,
          lastErrorClass: null,
          // A lookup would find the altered memory.
          verifyFirst: false,
          delaySeconds: 0,
        },
        { trx },
      );
      if (!(await logbook.ledger.queue(memory.memoryKey, outboxId, { trx }))) throw new ChangedMeanwhile();
      const entry = repairEntry(memory, finding, { action: 'redirect', status: 'redirected', outboxId });
      await audit.write(entry, { trx });
    });
    return true;
  } catch (error) {
    if (error instanceof ChangedMeanwhile) return false;
    throw error;
  }
}

/**
 * Marks a memory void if its text is lost: the backend lost it and the ledger has only its hash. It can then be stored
 * again, and no longer counts as a duplicate.
 *
 * @returns false when the memory exists, can be repaired, or was changed concurrently.
 */
export async function voidMemory(
  memory: LedgerMemory,
  { finding }: BackendFinding,
  { database, logbook, audit, memory: backend }: ReconcileDeps,
): Promise<boolean> {
  if ((finding !== 'missing' && finding !== 'altered') || memory.payload !== null) return false;
  const { memoryKey, backendMemoryId } = memory;
  // A listing may be incomplete, so the memory is read by its id.
  if (finding === 'missing' && (await backend.get(backendMemoryId ?? '')) !== null) return false;
  return database.transaction(async (trx) => {
    if (!(await logbook.ledger.markVoid(memoryKey, { trx }))) return false;
    // Not a redirect: invariant 1 requires an outbox row for each redirect.
    await audit.write(repairEntry(memory, finding, { action: 'reject', status: 'failed' }), { trx });
    return true;
  });
}
