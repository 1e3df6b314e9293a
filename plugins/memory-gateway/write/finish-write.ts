import type { Delivery, FailedDelivery } from 'mortise/contracts/memory-gateway';
import { retryCommit } from 'mortise/sdk';
import type { Gateway } from '../gateway.js';
import {
  type BegunWrite,
  lostWrite,
  type SettleDeps,
  SettledElsewhere,
  settleFailed,
  settleStored,
} from './settle-write.js';
import { type WriteOutcome, WriteUnsettled } from './write-job.js';

/**
 * Milliseconds after its begin that a write may still be sent to the backend. Recovery in another process settles it
 * after 15 s, in case this process was suspended.
 */
const SEND_WITHIN_MS = 7_500;

const notSent: FailedDelivery = {
  kind: 'failed',
  class: 'unavailable',
  detail: 'timeout',
  message: 'the process was suspended before it could send the memory',
  applied: 'no',
  retryAfterMs: null,
  mergedInto: null,
};

type FinishDeps = SettleDeps & Pick<Gateway, 'settlements' | 'inFlight' | 'log'>;

function settle(write: BegunWrite, delivery: Delivery, deps: FinishDeps): Promise<WriteOutcome> {
  return deps.settlements.run(async (trx): Promise<WriteOutcome> => {
    if (delivery.kind === 'stored') {
      await settleStored(write, delivery.id, delivery.dedup ? { backend_dedup: true } : {}, deps, trx);
      return { kind: 'stored', memoryId: delivery.id, isDedup: delivery.dedup };
    }
    const outboxId = await settleFailed(write, delivery, deps, trx);
    return { kind: 'outbox', outboxId, isDead: delivery.class === 'permanent', failed: delivery };
  });
}

/**
 * The outcome that another process committed because it considered this one dead. The answer follows the audit row, even
 * if the outbox has delivered the memory since.
 */
async function readSettled({ auditId }: BegunWrite, { audit }: FinishDeps): Promise<WriteOutcome> {
  const row = await audit.get(auditId);
  const { memory_id, outbox_id } = row?.evidence ?? {};
  if (row?.status === 'success') return { kind: 'stored', memoryId: String(memory_id ?? ''), isDedup: false };
  if (typeof outbox_id !== 'number') throw new WriteUnsettled();
  return { kind: 'outbox', outboxId: outbox_id, isDead: false, failed: lostWrite('unknown') };
}

/**
 * Calls the backend and commits the outcome. The memory is in the ledger already, so the call can no longer be cancelled.
 * If too much time has passed since the begin, the memory goes to the outbox instead, unless another process has settled
 * the write.
 *
 * @param begunAt `performance.now()` from before the begin was committed
 * @throws WriteUnsettled when the outcome could not be committed; recovery settles it.
 */
export async function finishWrite(write: BegunWrite, begunAt: number, deps: FinishDeps): Promise<WriteOutcome> {
  const { memory } = write;
  deps.inFlight.add(write.auditId);
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
    let delivery: Delivery | undefined;
    try {
      return await retryCommit(
        async () => {
          delivery ??=
            performance.now() - begunAt > SEND_WITHIN_MS
              ? notSent
              : await deps.backend.deliver(item, { retriesOnce: true, correlationId: item.correlationId });
          return await settle(write, delivery, deps);
        },
        (error) => {
          if (error instanceof SettledElsewhere) return false;
          deps.log.error(
            { err: error, correlationId: memory.correlationId },
            'The outcome of a write is not committed yet.',
          );
          // Without a delivery the memory may have been stored, so it must not be sent again.
          return delivery !== undefined;
        },
      );
    } catch (error) {
      if (error instanceof SettledElsewhere) return await readSettled(write, deps);
      throw new WriteUnsettled(error);
    }
  } finally {
    deps.inFlight.delete(write.auditId);
  }
}
