import { randomBytes } from 'node:crypto';
import type { ClaimedRow } from 'mortise/contracts/logbook';
import type { OutboxDeps } from '../outbox-deps.js';
import { type Attempt, flushAudit } from './attempt.js';
import type { Delivered } from './settle.js';

/** A claimed attempt. */
export interface ClaimedAttempt extends Attempt {
  /** The earlier sent row with the same memory, or null. */
  readonly sentBefore: { readonly outboxId: number; readonly memoryId: string | null } | null;
}

interface BatchRequest {
  readonly workerId: string;
  readonly batchSize: number;
  /** Outbox ids that are not claimed. */
  readonly except: readonly number[];
}

const ID_BYTES = 8;

/** Draws the bytes of all ids at once: the call costs more than the bytes. */
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
 * Leases due rows and audits expired leases in the same transaction. While a row is leased no other worker can send its
 * memory, so earlier deliveries are looked up here, once for all rows.
 */
export async function claimBatch(wanted: BatchRequest, deps: OutboxDeps): Promise<readonly ClaimedAttempt[]> {
  const { database, logbook, audit, config } = deps;
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

function dedupKey({ row }: Attempt): string {
  return `${row.space}\n${row.payloadSha}\n${row.metaSha}`;
}

/** A claimed attempt in the worker's queue. */
export interface WaitingAttempt extends ClaimedAttempt {
  /** Equal for rows with the same memory. */
  readonly key: string;
  /** This worker already holds a row with the same memory, which may be sent before this one starts. */
  readonly isDuplicate: boolean;
}

/** Marks claimed rows that duplicate a row the worker holds, or an earlier row of the batch. */
export function markDuplicates(
  held: readonly WaitingAttempt[],
  claimed: readonly ClaimedAttempt[],
): readonly WaitingAttempt[] {
  const keys = new Set(held.map(({ key }) => key));
  return claimed.map((attempt) => {
    const key = dedupKey(attempt);
    const isDuplicate = keys.has(key);
    keys.add(key);
    return { ...attempt, key, isDuplicate };
  });
}

/** Attempts whose memory was already sent. */
export async function findDuplicates(
  attempts: readonly WaitingAttempt[],
  { logbook }: OutboxDeps,
): Promise<readonly Delivered[]> {
  const duplicates = attempts.filter(({ isDuplicate }) => isDuplicate).map(({ row }) => row.outboxId);
  const sent = await logbook.outbox.findSent(duplicates);
  return attempts.flatMap((attempt) => {
    const before = attempt.isDuplicate ? sent.get(attempt.row.outboxId) : attempt.sentBefore;
    if (before === undefined || before === null || before.memoryId === null) return [];
    return [{ kind: 'delivered', attempt, memoryId: before.memoryId, duplicateOf: before.outboxId }];
  });
}
