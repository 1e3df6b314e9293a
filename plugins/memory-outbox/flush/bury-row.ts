import type { Transaction } from 'mortise/sdk';
import type { OutboxParts } from '../parts.js';
import { type Attempt, flushAudit } from './flush-audit.js';
import type { Verdict } from './judge-failure.js';
import { noteConflicts } from './note-conflicts.js';

/** Makes a dead letter of the row, keeps why, and says so. @returns false when the row was no longer the worker's. */
export async function buryRow(
  attempt: Attempt,
  { error, errorClass }: Extract<Verdict, { readonly kind: 'dead' }>,
  parts: OutboxParts,
  trx: Transaction,
): Promise<boolean> {
  const { logbook, audit } = parts;
  const { row, workerId } = attempt;
  if (!(await logbook.outbox.markDeadByWorker(row.outboxId, workerId, { error, errorClass }, { trx }))) {
    await noteConflicts([{ attempt, intended: 'dead' }], parts, trx);
    return false;
  }
  if (row.memoryKey !== null) {
    const state = error.startsWith('merged_into:') ? 'merged' : 'dead';
    await logbook.ledger.settle(['queued'], [{ memoryKey: row.memoryKey, state }], { trx });
  }
  const evidence = { retry_count: row.retryCount + 1, extra: { last_error: error, error_class: errorClass } };
  await audit.write(flushAudit(attempt, { action: 'reject', reason: 'outbox_flush_dead', evidence }), { trx });
  return true;
}
