import {
  type AuditService,
  type FailedDelivery,
  type LedgerMemory,
  type LogbookService,
  type MemoryService,
  redactSecrets,
  type Transaction,
} from 'mortise/sdk';
import type { Config } from '../config.generated.js';

export interface SettleParts {
  readonly logbook: LogbookService;
  readonly audit: AuditService;
  readonly backend: MemoryService;
  readonly config: Pick<Config, 'store_timeout_ms'>;
}

/** A memory whose ledger row is `writing` and whose audit row is pending. */
export interface BegunWrite {
  readonly auditId: string;
  /** What the audit row says once the memory is stored. */
  readonly intended: { readonly action: 'allow' | 'redirect' | 'reject'; readonly reason: string };
  readonly memory: Omit<LedgerMemory, 'seq' | 'createdAt' | 'updatedAt'>;
  readonly requestedSpace: string | null;
}

/** Someone else settled it first; nothing of this settlement is kept. */
export class SettledElsewhere extends Error {
  constructor() {
    super('The write was settled by someone else.');
    this.name = 'SettledElsewhere';
  }
}

const LONGEST_ERROR = 500;
/** What it says of a call that the backend, or something before it, gave up waiting for. */
const timeouts: readonly string[] = ['timeout', 'api_error_504'];

/**
 * The backend has the memory: its audit row and its ledger row say so together.
 * @throws SettledElsewhere
 */
export async function settleStored(
  write: BegunWrite,
  backendMemoryId: string,
  facts: Readonly<Record<string, unknown>>,
  { logbook, audit, backend }: SettleParts,
  trx: Transaction,
): Promise<void> {
  const outcome = { status: 'success', ...write.intended, patch: { memory_id: backendMemoryId, ...facts } } as const;
  if (!(await audit.finalize(write.auditId, outcome, { trx }))) throw new SettledElsewhere();
  const { memoryKey } = write.memory;
  const change = { memoryKey, state: 'active', backend: backend.backend, backendMemoryId } as const;
  await logbook.ledger.settle(['writing'], [{ ...change, dropsPayload: !backend.keepsText }], { trx });
}

/**
 * Seconds until the memory is looked for, or sent again. A backend that was too slow may still be at work on it: a look
 * at once would find nothing, and the memory would be there twice. It gets as long again as it had.
 */
function firstWait({ applied, detail, retryAfterMs }: FailedDelivery, storeMs: number): number {
  const doubtMs = applied === 'unknown' && timeouts.includes(detail) ? storeMs : 0;
  return Math.max(doubtMs, retryAfterMs ?? 0) / 1_000;
}

function deadAudit({ memory, requestedSpace }: BegunWrite, outboxId: number, lastError: string) {
  const requested = requestedSpace === null ? null : redactSecrets(requestedSpace);
  return {
    action: 'reject',
    operation: 'outbox_flush',
    reason: 'outbox_flush_dead',
    status: 'failed',
    actorUserId: memory.actorUserId,
    targetSpace: memory.space,
    payloadSha: memory.payloadSha,
    correlationId: memory.correlationId,
    memoryKey: memory.memoryKey,
    evidence: {
      source: 'gateway',
      outbox_id: outboxId,
      memory_key: memory.memoryKey,
      correlation_id: memory.correlationId,
      payload_sha: memory.payloadSha,
      retry_count: 0,
      extra: { last_error: lastError, requested_space: requested },
      gateway_event: { requested_space: requested },
    },
  } as const;
}

/**
 * The backend does not have the memory, or nobody knows: it is kept in the outbox, where one that the backend refuses
 * for good is a dead letter. One transaction with both audit rows and the ledger row. @returns the outbox id.
 *
 * @throws SettledElsewhere
 */
export async function settleFailed(
  write: BegunWrite,
  failed: FailedDelivery,
  { logbook, audit, config }: SettleParts,
  trx: Transaction,
): Promise<number> {
  const { memory } = write;
  const isDead = failed.class === 'permanent';
  const lastError = (failed.mergedInto === null ? failed.message : `merged_into:${failed.mergedInto}`).slice(
    0,
    LONGEST_ERROR,
  );
  const outboxId = await logbook.outbox.enqueueMemory(
    {
      ...memory,
      payload: memory.payload ?? '',
      requestedSpace: write.requestedSpace,
      status: isDead ? 'dead' : 'pending',
      lastError,
      lastErrorClass: failed.class,
      verifyFirst: !isDead && failed.applied === 'unknown',
      delaySeconds: firstWait(failed, config.store_timeout_ms),
    },
    { trx },
  );
  const outcome = {
    status: 'redirected',
    action: 'redirect',
    reason: `OPENMEMORY_WRITE_FAILED:${failed.detail}`,
    patch: { outbox_id: outboxId, intended_action: write.intended.action },
  } as const;
  if (!(await audit.finalize(write.auditId, outcome, { trx }))) throw new SettledElsewhere();
  if (isDead) await audit.write(deadAudit(write, outboxId, lastError), { trx });
  const state = !isDead ? 'queued' : failed.mergedInto === null ? 'dead' : 'merged';
  await logbook.ledger.settle(['writing'], [{ memoryKey: memory.memoryKey, state, outboxId }], { trx });
  return outboxId;
}
