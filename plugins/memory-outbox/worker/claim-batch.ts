import { randomBytes } from 'node:crypto';
import type { ClaimedRow } from 'mortise/contracts/logbook';
import { type Attempt, flushAudit } from '../flush/flush-audit.js';
import type { OutboxParts } from '../parts.js';

/** An attempt that waits for its turn. */
export interface ClaimedAttempt extends Attempt {
  /** The row that was sent before with the same memory; null when there is none. */
  readonly sentBefore: { readonly outboxId: number; readonly memoryId: string | null } | null;
}

export interface BatchWish {
  readonly workerId: string;
  readonly batchSize: number;
  /** Outbox ids that are not claimed. */
  readonly except: readonly number[];
}

const ID_BYTES = 8;

/** Made together: asking for random bytes costs more than many of them. */
function newAttemptIds(count: number): readonly string[] {
  const bytes = randomBytes(ID_BYTES * count);
  return Array.from(
    { length: count },
    (_, index) => `att-${bytes.toString('hex', ID_BYTES * index, ID_BYTES * (index + 1))}`,
  );
}

function staleAudit(attempt: Attempt, { lockedBy, lockedAt }: NonNullable<ClaimedRow['takenOverFrom']>) {
  const evidence = { original_locked_by: lockedBy, original_locked_at: lockedAt };
  return flushAudit(attempt, { action: 'redirect', reason: 'outbox_stale', evidence });
}

/**
 * Leases due rows, and says in the same transaction whose leases had run out. While a row is leased nobody else can
 * send its memory, so whether that was sent before is looked up here, once for all of them.
 */
export async function claimBatch(wanted: BatchWish, parts: OutboxParts): Promise<readonly ClaimedAttempt[]> {
  const { database, logbook, audit, config } = parts;
  const { workerId } = wanted;
  return database.transaction(async (trx) => {
    const { rows } = await logbook.outbox.claimOutbox({ ...wanted, leaseSeconds: config.lease_seconds }, { trx });
    const sent = await logbook.outbox.findSent(
      rows.map(({ outboxId }) => outboxId),
      { trx },
    );
    const attemptIds = newAttemptIds(rows.length);
    const attempts = rows.map((row, index) => ({
      row,
      workerId,
      attemptId: attemptIds[index] ?? '',
      sentBefore: sent.get(row.outboxId) ?? null,
    }));
    const stale = attempts.flatMap((attempt) =>
      attempt.row.takenOverFrom === null ? [] : [staleAudit(attempt, attempt.row.takenOverFrom)],
    );
    if (stale.length > 0) await audit.writeMany(stale, { trx });
    return attempts;
  });
}
