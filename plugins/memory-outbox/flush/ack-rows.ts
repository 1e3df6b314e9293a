import type { Transaction } from 'mortise/sdk';
import type { OutboxParts } from '../parts.js';
import { type Attempt, flushAudit } from './flush-audit.js';
import { noteConflicts } from './note-conflicts.js';

/** An attempt whose memory the backend has. */
export interface Delivered {
  readonly kind: 'delivered';
  readonly attempt: Attempt;
  readonly memoryId: string;
  /** The row that was sent before with the same memory; null when this one was sent itself. */
  readonly duplicateOf: number | null;
}

/**
 * Outbox row, ledger row and audit row say together that the memory is in the backend; rows that are no longer the
 * worker's only get their conflict noted. @returns the attempts that were acknowledged.
 */
export async function ackRows(
  delivered: readonly Delivered[],
  parts: OutboxParts,
  trx: Transaction,
): Promise<ReadonlySet<Attempt>> {
  if (delivered.length === 0) return new Set();
  const { logbook, audit, memory } = parts;
  const workerId = delivered[0]?.attempt.workerId ?? '';
  const dropsPayload = !memory.keepsText;
  const acks = delivered.map(({ attempt, memoryId }) => ({ outboxId: attempt.row.outboxId, memoryId, dropsPayload }));
  const acked = await logbook.outbox.ackSentMany(acks, workerId, { trx });
  const done = delivered.filter(({ attempt }) => acked.has(attempt.row.outboxId));
  const entries = done.map(({ attempt, memoryId, duplicateOf }) =>
    flushAudit(attempt, {
      action: 'allow',
      reason: duplicateOf === null ? 'outbox_flush_success' : 'outbox_flush_dedup_hit',
      evidence: { memory_id: memoryId, ...(duplicateOf === null ? {} : { original_outbox_id: duplicateOf }) },
    }),
  );
  if (entries.length > 0) await audit.writeMany(entries, { trx });
  const changes = done.flatMap(({ attempt, memoryId }) => {
    const { memoryKey } = attempt.row;
    if (memoryKey === null) return [];
    return [{ memoryKey, state: 'active' as const, backend: memory.backend, backendMemoryId: memoryId, dropsPayload }];
  });
  await logbook.ledger.settle(['queued'], changes, { trx });
  const lost = delivered.filter(({ attempt }) => !acked.has(attempt.row.outboxId));
  await noteConflicts(
    lost.map(({ attempt, duplicateOf }) => ({ attempt, intended: duplicateOf === null ? 'success' : 'dedup_hit' })),
    parts,
    trx,
  );
  return new Set(done.map(({ attempt }) => attempt));
}
