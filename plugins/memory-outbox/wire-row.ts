import type { OutboxRow } from 'mortise/contracts/logbook';

/** A row as it is on the wire. The text is left out: lists of it would be large, and need nobody's reading. */
export function wireRow(row: OutboxRow) {
  return {
    outbox_id: row.outboxId,
    status: row.status,
    target_space: row.space,
    requested_space: row.requestedSpace,
    kind: row.kind,
    payload_sha: row.payloadSha,
    actor_user_id: row.actorUserId,
    item_id: row.itemId,
    memory_key: row.memoryKey,
    memory_id: row.memoryId,
    retry_count: row.retryCount,
    unavailable_count: row.unavailableCount,
    next_attempt_at: row.nextAttemptAt,
    locked_by: row.lockedBy,
    locked_at: row.lockedAt,
    last_error: row.lastError,
    last_error_class: row.lastErrorClass,
    verify_first: row.verifyFirst,
    correlation_id: row.correlationId,
    created_at: row.createdAt,
    updated_at: row.updatedAt,
    sent_at: row.sentAt,
    dead_at: row.deadAt,
  };
}
