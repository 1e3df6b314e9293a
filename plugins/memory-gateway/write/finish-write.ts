import { setTimeout as delay } from 'node:timers/promises';
import type { Delivery, FailedDelivery } from 'mortise/contracts/memory-gateway';
import type { GatewayParts } from '../parts.js';
import { type BegunWrite, SettledElsewhere, type SettleParts, settleFailed, settleStored } from './settle-write.js';
import { type WriteOutcome, WriteUnsettled } from './write-job.js';

/** Milliseconds before each further try to write down what came of a call. */
const TRIES_AFTER_MS = [50, 200, 1_000];

/**
 * Milliseconds after its beginning that a write may still be sent. From 15 s on another process settles it, should this
 * one have stood still for so long.
 */
const SENT_WITHIN_MS = 7_500;

const heldUp: FailedDelivery = {
  kind: 'failed',
  class: 'unavailable',
  detail: 'timeout',
  message: 'the process was held up before it could send the memory',
  applied: 'no',
  retryAfterMs: null,
  mergedInto: null,
};

/** What writing down the outcome of a call takes. */
export type FinishParts = SettleParts & Pick<GatewayParts, 'settlements' | 'inFlight' | 'log'>;

function settle(write: BegunWrite, delivery: Delivery, parts: FinishParts): Promise<WriteOutcome> {
  return parts.settlements.run(async (trx): Promise<WriteOutcome> => {
    if (delivery.kind === 'stored') {
      await settleStored(write, delivery.id, delivery.dedup ? { backend_dedup: true } : {}, parts, trx);
      return { kind: 'stored', memoryId: delivery.id, isDedup: delivery.dedup };
    }
    const outboxId = await settleFailed(write, delivery, parts, trx);
    return { kind: 'kept', outboxId, isDead: delivery.class === 'permanent', failed: delivery };
  });
}

/** What another process made of the write, which took this one for dead. */
async function readSettled({ memory }: BegunWrite, delivery: Delivery, parts: FinishParts): Promise<WriteOutcome> {
  const [row] = await parts.logbook.ledger.byKeys([memory.memoryKey]);
  if (row?.state === 'active') return { kind: 'stored', memoryId: row.backendMemoryId ?? '', isDedup: false };
  const { outboxId } = row ?? { outboxId: null };
  if (outboxId === null || delivery.kind === 'stored') throw new WriteUnsettled();
  return { kind: 'kept', outboxId, isDead: row?.state !== 'queued', failed: delivery };
}

/**
 * Calls the backend and writes down what came of it. From here on nobody can cancel: the memory is in the ledger. A write
 * that was held up for long is not sent but kept in the outbox, unless another process has done so.
 *
 * @param begunAt `performance.now()` from before the write was begun
 * @throws WriteUnsettled when the outcome could not be written; recovery settles it.
 */
export async function finishWrite(write: BegunWrite, begunAt: number, parts: FinishParts): Promise<WriteOutcome> {
  const { memory } = write;
  parts.inFlight.add(write.auditId);
  try {
    const item = {
      memoryKey: memory.memoryKey,
      content: memory.payload ?? '',
      space: memory.space,
      kind: memory.kind,
      meta: memory.meta,
      evidence: memory.evidence,
      actorUserId: memory.actorUserId,
      payloadSha: memory.payloadSha,
      correlationId: memory.correlationId ?? '',
    };
    const tries = [0, ...TRIES_AFTER_MS];
    let delivery: Delivery | undefined;
    for (const wait of tries) {
      if (wait > 0) await delay(wait);
      try {
        delivery ??=
          performance.now() - begunAt > SENT_WITHIN_MS
            ? heldUp
            : await parts.backend.deliver(item, { repeats: true, correlationId: item.correlationId });
        return await settle(write, delivery, parts);
      } catch (error) {
        if (error instanceof SettledElsewhere && delivery !== undefined) return readSettled(write, delivery, parts);
        parts.log.error(
          { err: error, correlationId: memory.correlationId },
          'The outcome of a write is not written yet.',
        );
        // A memory may be stored whose answer could not be judged: the next try must not store it again.
        if (delivery === undefined) throw new WriteUnsettled(error);
      }
    }
    throw new WriteUnsettled();
  } finally {
    parts.inFlight.delete(write.auditId);
  }
}
