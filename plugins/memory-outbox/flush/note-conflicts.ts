import type { Transaction } from 'mortise/sdk';
import type { OutboxParts } from '../parts.js';
import { type Attempt, flushAudit } from './flush-audit.js';

/** What the attempt wanted to write when the row was no longer its own. */
export type IntendedAction = 'success' | 'retry' | 'dead' | 'dedup_hit';

export interface Conflict {
  readonly attempt: Attempt;
  readonly intended: IntendedAction;
}

/** Says that somebody else took these rows; nothing of the attempts is kept. */
export async function noteConflicts(
  conflicts: readonly Conflict[],
  { logbook, audit }: OutboxParts,
  trx: Transaction,
): Promise<void> {
  if (conflicts.length === 0) return;
  const ids = conflicts.map(({ attempt }) => attempt.row.outboxId);
  const observed = new Map((await logbook.outbox.byIds(ids, { trx })).map((row) => [row.outboxId, row]));
  const entries = conflicts.map(({ attempt, intended }) => {
    const row = observed.get(attempt.row.outboxId);
    const extra = {
      intended_action: intended,
      observed_status: row?.status ?? null,
      observed_locked_by: row?.lockedBy ?? null,
      observed_last_error: row?.lastError ?? null,
    };
    return flushAudit(attempt, { action: 'redirect', reason: 'outbox_flush_conflict', evidence: { extra } });
  });
  await audit.writeMany(entries, { trx });
}
