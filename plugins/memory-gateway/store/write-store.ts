import { setTimeout as delay } from 'node:timers/promises';
import type { DedupHit } from 'mortise/contracts/logbook';
import type { MemoryService } from 'mortise/contracts/memory-gateway';
import { type MemoryItem, newUlid } from 'mortise/sdk';
import type { Gateway } from '../gateway.js';
import { finishWrite } from '../write/finish-write.js';
import type { MemoryJob, WriteOutcome } from '../write/write-job.js';
import { auditNewUser, auditStore } from './audit-store.js';
import type { StoreDecision } from './decide-store.js';
import { metaSha } from './hashes.js';
import { actionOf } from './store-result.js';

/** Milliseconds between two tries while another process writes the same memory, and until the store gives up. */
const POLL_MS = 20;
const POLL_LIMIT_MS = 2_000;

function auditDuplicate(decision: StoreDecision, space: string, hit: DedupHit) {
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
}

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
  const audit = (memoryId: string | null) =>
    auditStore(request, decision, {
      action: actionOf(decision),
      reason: decision.reason,
      status: memoryId === null ? 'pending' : 'success',
      space,
      memoryKey,
      memoryId,
      backend: backend.backend,
    });
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
    auditDuplicate: (hit) => auditDuplicate(decision, space, hit),
  };
}

/** Runs the first call with a key alone. Calls that arrive meanwhile start when it has ended, whatever its outcome. */
export async function runAfterFirst<T>(
  running: Map<string, Promise<unknown>>,
  key: string,
  work: () => Promise<T>,
): Promise<T> {
  const first = running.get(key);
  if (first !== undefined) {
    await first.catch(() => {});
    return work();
  }
  const own = work();
  running.set(key, own);
  try {
    return await own;
  } finally {
    running.delete(key);
  }
}

/**
 * Writes a memory, or finds the identical one that exists already. Identical stores of this process wait for the first,
 * so that they find its memory. While another process writes it, the ledger is polled.
 *
 * The writer commits the ledger row, the audit row and, for a transactional backend, the memory. For any other backend
 * the rows are committed as pending, and `finishWrite` calls the backend and commits the outcome.
 */
export function writeStore(decision: StoreDecision, space: string, gateway: Gateway): Promise<WriteOutcome> {
  const job = memoryJob(decision, space, gateway.backend);
  const { row } = job;
  return runAfterFirst(gateway.running, `${space}\n${row.payloadSha}\n${row.metaSha}`, async () => {
    const deadline = performance.now() + POLL_LIMIT_MS;
    for (;;) {
      const begunAt = performance.now();
      const outcome = await gateway.writer.submit(job);
      if (outcome.kind === 'begun') {
        const { auditId } = outcome;
        const { backend } = gateway.backend;
        const memory = { ...row, backend, backendMemoryId: null, auditId, outboxId: null };
        const intended = { action: actionOf(decision), reason: decision.reason };
        const { requestedSpace, principal } = decision.request;
        const write = { auditId, intended, memory, requestedSpace, principal: principal.id };
        return finishWrite(write, begunAt, gateway);
      }
      if (outcome.kind !== 'busy' || performance.now() >= deadline) return outcome;
      await delay(POLL_MS);
    }
  });
}
