import type { OutboxRow } from 'mortise/contracts/logbook';
import type { AuditEntry } from 'mortise/sdk';

/** One try of one worker to deliver a row. */
export interface Attempt {
  readonly row: OutboxRow;
  readonly workerId: string;
  readonly attemptId: string;
}

type Flush = Pick<AuditEntry, 'action' | 'reason' | 'evidence'>;

const statuses = { allow: 'success', redirect: 'redirected', reject: 'failed' } as const;

/** An audit row about an attempt, under the actor and the request of the memory. */
export function flushAudit({ row, workerId, attemptId }: Attempt, { action, reason, evidence }: Flush): AuditEntry {
  return {
    action,
    operation: 'outbox_flush',
    reason,
    status: statuses[action],
    actorUserId: row.actorUserId,
    targetSpace: row.space,
    payloadSha: row.payloadSha,
    correlationId: row.correlationId,
    memoryKey: row.memoryKey,
    evidence: {
      source: 'outbox_worker',
      outbox_id: row.outboxId,
      worker_id: workerId,
      attempt_id: attemptId,
      retry_count: row.retryCount,
      correlation_id: row.correlationId,
      payload_sha: row.payloadSha,
      ...(row.memoryKey === null ? {} : { memory_key: row.memoryKey }),
      ...evidence,
      gateway_event: { requested_space: row.requestedSpace },
    },
  };
}
