import type { OutboxRow } from 'mortise/contracts/logbook';
import type { AuditEntry } from 'mortise/sdk';

const statuses = { allow: 'success', redirect: 'redirected', reject: 'failed' } as const;

/** An audit row that makes up for one that is missing, or tells what was mended. */
export function reconcileAudit(
  row: OutboxRow,
  { action, reason, evidence }: Pick<AuditEntry, 'action' | 'reason' | 'evidence'>,
): AuditEntry {
  return {
    action,
    operation: 'outbox_reconcile',
    reason,
    status: statuses[action],
    actorUserId: row.actorUserId,
    targetSpace: row.space,
    payloadSha: row.payloadSha,
    correlationId: row.correlationId,
    memoryKey: row.memoryKey,
    evidence: {
      source: 'reconcile_outbox',
      outbox_id: row.outboxId,
      correlation_id: row.correlationId,
      payload_sha: row.payloadSha,
      retry_count: row.retryCount,
      ...(row.memoryKey === null ? {} : { memory_key: row.memoryKey }),
      ...evidence,
      gateway_event: { requested_space: row.requestedSpace },
    },
  };
}
