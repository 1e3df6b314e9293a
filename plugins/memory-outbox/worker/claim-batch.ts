import { randomBytes } from 'node:crypto';
import type { ClaimedRow } from 'mortise/sdk';
import { type Attempt, flushAudit } from '../flush/flush-audit.js';
import type { OutboxParts } from '../parts.js';

function newAttemptId(): string {
  return `att-${randomBytes(8).toString('hex')}`;
}

function staleAudit(attempt: Attempt, { lockedBy, lockedAt }: NonNullable<ClaimedRow['takenOverFrom']>) {
  const evidence = { original_locked_by: lockedBy, original_locked_at: lockedAt };
  return flushAudit(attempt, { action: 'redirect', reason: 'outbox_stale', evidence });
}

/** Leases due rows, and says in the same transaction whose leases had run out. */
export async function claimBatch(workerId: string, batchSize: number, parts: OutboxParts): Promise<readonly Attempt[]> {
  const { database, logbook, audit, config } = parts;
  return database.transaction(async (trx) => {
    const wanted = { workerId, batchSize, leaseSeconds: config.lease_seconds };
    const { rows } = await logbook.outbox.claimOutbox(wanted, { trx });
    const attempts = rows.map((row) => ({ row, workerId, attemptId: newAttemptId() }));
    const stale = attempts.flatMap(({ row, ...attempt }) =>
      row.takenOverFrom === null ? [] : [staleAudit({ row, ...attempt }, row.takenOverFrom)],
    );
    if (stale.length > 0) await audit.writeMany(stale, { trx });
    return attempts;
  });
}
