import type { LogbookService, OutboxRow } from 'mortise/contracts/logbook';
import { type MetricsService, MortiseError, type Principal } from 'mortise/sdk';
import type { OutboxDeps } from './outbox-deps.js';

/** The wire form of a row, without its text. */
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

/** The caller that retries a dead letter. */
interface Operator {
  readonly principal: Principal;
  readonly correlationId: string;
}

function retryAudit(row: OutboxRow, { principal, correlationId }: Operator) {
  return {
    action: 'allow',
    operation: 'outbox_retry',
    reason: 'outbox_retry_requested',
    actorUserId: principal.actor ?? null,
    principal: principal.id,
    targetSpace: row.space,
    payloadSha: row.payloadSha,
    correlationId,
    memoryKey: row.memoryKey,
    evidence: {
      source: 'operator',
      outbox_id: row.outboxId,
      correlation_id: correlationId,
      extra: { last_error: row.lastError, stored_by: row.correlationId },
    },
  } as const;
}

/**
 * Makes a dead letter pending again: outbox row, ledger row and audit row change in one transaction.
 * @throws MortiseError `outbox_row_not_found` (404), `outbox_row_not_dead`, `memory_stored_again` (409).
 */
export async function retryDeadRow(outboxId: number, operator: Operator, deps: OutboxDeps): Promise<OutboxRow> {
  const { database, logbook, audit } = deps;
  try {
    return await database.transaction(async (trx) => {
      const row = await logbook.outbox.get(outboxId, { trx });
      if (row === null) {
        throw new MortiseError('outbox_row_not_found', `There is no outbox row ${outboxId}.`, { status: 404 });
      }
      if (!(await logbook.outbox.retryDead(outboxId, { trx }))) {
        const message = `Outbox row ${outboxId} is ${row.status}; only dead rows can be retried.`;
        throw new MortiseError('outbox_row_not_dead', message, { status: 409, details: { status: row.status } });
      }
      const { memoryKey } = row;
      if (memoryKey !== null) await logbook.ledger.requeue(memoryKey, { trx });
      await audit.write(retryAudit(row, operator), { trx });
      return { ...row, status: 'pending' as const };
    });
  } catch (error) {
    if (error instanceof MortiseError || database.codec.errorKind(error) !== 'unique') throw error;
    const message = `The memory of outbox row ${outboxId} was stored again meanwhile; there is nothing to deliver.`;
    throw new MortiseError('memory_stored_again', message, { status: 409 });
  }
}

/** Metrics: rows by status, and age of the oldest pending row. */
export function observeOutbox(metrics: MetricsService, { reliability }: LogbookService): void {
  metrics.observe('mortise_outbox_rows', 'Outbox rows by status.', ['status'], async () => {
    const { pending, sent, dead } = await reliability.outbox();
    return Object.entries({ pending, sent, dead }).map(([status, value]) => ({ labels: { status }, value }));
  });
  metrics.observe('mortise_outbox_oldest_seconds', 'Age of the oldest pending row, in seconds.', [], async () => {
    const { oldest_pending_age_seconds: value } = await reliability.outbox();
    return [{ labels: {}, value }];
  });
}
