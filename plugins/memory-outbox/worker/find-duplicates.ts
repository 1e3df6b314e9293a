import type { Delivered } from '../flush/ack-rows.js';
import type { Attempt } from '../flush/flush-audit.js';
import type { OutboxParts } from '../parts.js';
import type { ClaimedAttempt } from './claim-batch.js';

function dedupKey({ row }: Attempt): string {
  return `${row.space}\n${row.payloadSha}\n${row.metaSha}`;
}

/** A claimed row whose turn comes. */
export interface WaitingAttempt extends ClaimedAttempt {
  /** What makes it the same memory as another row. */
  readonly key: string;
  /** A row of the same memory is before it in the same worker, and may have been sent when its turn comes. */
  readonly isTwin: boolean;
}

/** Tells which of the rows just claimed repeat one that the worker holds already, or an earlier one of their own. */
export function markTwins(
  held: readonly WaitingAttempt[],
  claimed: readonly ClaimedAttempt[],
): readonly WaitingAttempt[] {
  const keys = new Set(held.map(({ key }) => key));
  return claimed.map((attempt) => {
    const key = dedupKey(attempt);
    const isTwin = keys.has(key);
    keys.add(key);
    return { ...attempt, key, isTwin };
  });
}

/** Rows whose memory was sent before. */
export async function findDuplicates(
  attempts: readonly WaitingAttempt[],
  { logbook }: OutboxParts,
): Promise<readonly Delivered[]> {
  const twins = attempts.filter(({ isTwin }) => isTwin).map(({ row }) => row.outboxId);
  const sent = await logbook.outbox.findSent(twins);
  return attempts.flatMap((attempt) => {
    const before = attempt.isTwin ? sent.get(attempt.row.outboxId) : attempt.sentBefore;
    if (before === undefined || before === null || before.memoryId === null) return [];
    return [{ kind: 'delivered', attempt, memoryId: before.memoryId, duplicateOf: before.outboxId }];
  });
}
