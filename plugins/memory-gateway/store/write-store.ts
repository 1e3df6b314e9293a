import { setTimeout as delay } from 'node:timers/promises';
import type { DedupHit } from 'mortise/contracts/logbook';
import type { MemoryService } from 'mortise/contracts/memory-gateway';
import { type MemoryItem, newUlid } from 'mortise/sdk';
import type { GatewayParts } from '../parts.js';
import { finishWrite } from '../write/finish-write.js';
import type { MemoryJob, WriteOutcome } from '../write/write-job.js';
import { auditNewUser, auditStore } from './audit-store.js';
import type { StoreDecision } from './decision.js';
import { metaSha } from './hashes.js';
import { actionOf } from './store-result.js';

/** How long a store waits for another process that writes the same memory. */
const POLL_MS = 20;
const POLL_FOR_MS = 2_000;

function auditWrite(decision: StoreDecision, space: string, memoryKey: string, backend: string) {
  return (memoryId: string | null) =>
    auditStore(decision.request, decision, {
      action: actionOf(decision),
      reason: decision.reason,
      status: memoryId === null ? 'pending' : 'success',
      space,
      memoryKey,
      memoryId,
      backend,
    });
}

function auditDuplicate(decision: StoreDecision, space: string) {
  return (hit: DedupHit) => {
    const isQueued = hit.state === 'queued';
    return auditStore(decision.request, decision, {
      action: isQueued ? 'redirect' : actionOf(decision),
      reason: isQueued ? 'dedup_pending' : 'dedup_hit',
      status: isQueued ? 'redirected' : 'success',
      space,
      memoryKey: null,
      memoryId: hit.backendMemoryId,
      backend: null,
      more: {
        original_memory_key: hit.memoryKey,
        ...(hit.outboxId === null ? {} : { original_outbox_id: hit.outboxId }),
      },
    });
  };
}

/** The job that writes a memory the policy lets into a space. */
function memoryJob(decision: StoreDecision, space: string, backend: MemoryService): MemoryJob {
  const { request, newUser } = decision;
  const memoryKey = `mk_${newUlid()}`;
  const evidence = request.evidence.items.map(({ stored }) => stored);
  const identity = { kind: request.kind, meta: request.meta, evidence, itemId: request.itemId };
  const item: MemoryItem = {
    memoryKey,
    content: request.payload,
    space,
    kind: request.kind,
    meta: request.meta,
    evidence,
    actorUserId: request.actorUserId,
    payloadSha: request.payloadSha,
    correlationId: request.correlationId,
  };
  const audit = auditWrite(decision, space, memoryKey, backend.backend);
  return {
    kind: 'memory',
    phase: backend.facts()?.capabilities.transactional === true ? 'whole' : 'begin',
    item,
    row: {
      memoryKey,
      space,
      payload: request.payload,
      payloadSha: request.payloadSha,
      payloadLength: request.payloadLength,
      metaSha: metaSha(decision.keepsDuplicates ? { ...identity, salt: memoryKey } : identity),
      kind: request.kind,
      meta: request.meta,
      evidence,
      actorUserId: request.actorUserId,
      itemId: request.itemId,
      correlationId: request.correlationId,
    },
    newUser: newUser === null ? null : { userId: newUser, audit: auditNewUser(request, newUser) },
    auditStored: audit,
    auditBegun: () => audit(null),
    auditDuplicate: auditDuplicate(decision, space),
  };
}

/** The second half of a write whose backend keeps its own books. */
function finish(
  job: MemoryJob,
  begun: { readonly auditId: string; readonly at: number },
  decision: StoreDecision,
  parts: GatewayParts,
): Promise<WriteOutcome> {
  const { auditId } = begun;
  const memory = {
    ...job.row,
    backend: parts.backend.backend,
    backendMemoryId: null,
    state: 'writing',
    auditId,
    outboxId: null,
  } as const;
  const intended = { action: actionOf(decision), reason: decision.reason };
  const { requestedSpace } = decision.request;
  return finishWrite({ auditId, intended, memory, requestedSpace }, begun.at, parts);
}

/**
 * Writes the memory, or finds the same one. Identical stores of this process wait for the first of them, so that they
 * find it; one that another process is writing is waited for.
 */
export async function writeStore(decision: StoreDecision, space: string, parts: GatewayParts): Promise<WriteOutcome> {
  const job = memoryJob(decision, space, parts.backend);
  const { payloadSha, metaSha: meta } = job.row;
  return parts.flights(`${space}\n${payloadSha}\n${meta}`, async () => {
    const deadline = performance.now() + POLL_FOR_MS;
    for (;;) {
      const at = performance.now();
      const outcome = await parts.writer.submit(job);
      if (outcome.kind === 'begun') return finish(job, { auditId: outcome.auditId, at }, decision, parts);
      if (outcome.kind !== 'busy' || performance.now() >= deadline) return outcome;
      await delay(POLL_MS);
    }
  });
}
