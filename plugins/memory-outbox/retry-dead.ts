import type { OutboxRow } from 'mortise/contracts/logbook';
import { MortiseError, type Principal } from 'mortise/sdk';
import type { OutboxParts } from './parts.js';

/** Who wants a dead letter sent again. */
export interface Operator {
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
 * Sends a dead letter again: outbox row, ledger row and audit row change together.
 * @throws MortiseError `outbox_row_not_found` (404), `outbox_row_not_dead`, `memory_stored_again` (409).
 */
export async function retryDeadRow(outboxId: number, operator: Operator, parts: OutboxParts): Promise<OutboxRow> {
  const { database, logbook, audit } = parts;
  try {
    return await database.transaction(async (trx) => {
      const row = await logbook.outbox.get(outboxId, { trx });
      if (row === null) {
        throw new MortiseError('outbox_row_not_found', `There is no outbox row ${outboxId}.`, { status: 404 });
      }
      if (!(await logbook.outbox.retryDead(outboxId, { trx }))) {
        const message = `Outbox row ${outboxId} is ${row.status}; only dead ones can be sent again.`;
        throw new MortiseError('outbox_row_not_dead', message, { status: 409, details: { status: row.status } });
      }
      const { memoryKey } = row;
      if (memoryKey !== null) {
        await logbook.ledger.settle(['dead', 'merged'], [{ memoryKey, state: 'queued' }], { trx });
      }
      await audit.write(retryAudit(row, operator), { trx });
      return { ...row, status: 'pending' as const };
    });
  } catch (error) {
    if (error instanceof MortiseError || database.codec.errorKind(error) !== 'unique') throw error;
    const message = `The memory of outbox row ${outboxId} was stored again meanwhile; there is nothing to deliver.`;
    throw new MortiseError('memory_stored_again', message, { status: 409 });
  }
}
