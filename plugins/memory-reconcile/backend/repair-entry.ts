import type { LedgerMemory } from 'mortise/contracts/logbook';
import type { AuditEntry } from 'mortise/sdk';

/** What the trail says of a memory that the backend lost or altered. */
export function repairEntry(
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
