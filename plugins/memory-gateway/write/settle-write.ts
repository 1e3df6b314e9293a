import type { AuditService, LogbookService, NewMemory } from 'mortise/contracts/logbook';
import type { FailedDelivery, MemoryService } from 'mortise/contracts/memory-gateway';
import { redactSecrets, type Transaction } from 'mortise/sdk';
import type { Config } from '../config.generated.js';

export interface SettleDeps {
  readonly logbook: LogbookService;
  readonly audit: AuditService;
  readonly backend: MemoryService;
  readonly config: Pick<Config, 'store_timeout_ms'>;
}

/** A memory whose ledger row is `writing` and whose audit row is pending. */
export interface BegunWrite {
  readonly auditId: string;
  /** The action and reason of the audit row once the memory is stored. */
  readonly intended: { readonly action: 'allow' | 'redirect' | 'reject'; readonly reason: string };
  readonly memory: NewMemory;
  readonly requestedSpace: string | null;
  /** Id of the principal of the call. */
  readonly principal: string | null;
}

/** Another process settled the write first. The transaction of this settlement is rolled back. */
export class SettledElsewhere extends Error {
  constructor() {
    super('The write was settled by another process.');
    this.name = 'SettledElsewhere';
  }
}

/** How recovery settles a write that it did not find in the backend, or could not look up. */
export function lostWrite(applied: 'no' | 'unknown'): FailedDelivery {
  return {
    kind: 'failed',
    class: 'unavailable',
    detail: 'recovered_after_crash',
    message: 'the process that was storing the memory ended',
    applied,
    retryAfterMs: null,
    mergedInto: null,
  };
}

const MAX_ERROR_LENGTH = 500;
const timeouts: readonly string[] = ['timeout', 'api_error_504'];

/**
 * Commits that the backend has the memory, in its audit row and its ledger row.
 * @throws SettledElsewhere
 */
export async function settleStored(
  write: BegunWrite,
  backendMemoryId: string,
  facts: Readonly<Record<string, unknown>>,
  { logbook, audit, backend }: SettleDeps,
  trx: Transaction,
): Promise<void> {
  const outcome = { status: 'success', ...write.intended, patch: { memory_id: backendMemoryId, ...facts } } as const;
  if (!(await audit.finalize(write.auditId, outcome, { trx }))) throw new SettledElsewhere();
  const { memoryKey } = write.memory;
  const dropsPayload = !backend.keepsText;
  await logbook.ledger.activate([{ memoryKey, backend: backend.backend, backendMemoryId, dropsPayload }], { trx });
}

/**
 * Seconds until the memory is looked up in the backend or sent again. A backend that timed out may still be storing it:
 * an immediate look-up would miss it, and the memory would be stored twice. So the time limit is waited once more.
 */
function firstDelaySeconds({ applied, detail, retryAfterMs }: FailedDelivery, storeMs: number): number {
  const unsureMs = applied === 'unknown' && timeouts.includes(detail) ? storeMs : 0;
  return Math.max(unsureMs, retryAfterMs ?? 0) / 1_000;
}

function deadAudit({ memory, requestedSpace, principal }: BegunWrite, outboxId: number, lastError: string) {
  const requested = requestedSpace === null ? null : redactSecrets(requestedSpace);
  return {
    action: 'reject',
    operation: 'outbox_flush',
    reason: 'outbox_flush_dead',
    status: 'failed',
    principal,
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
 * Commits that the backend does not have the memory, or may not have it: the memory goes to the outbox, as a dead letter
 * if the backend rejected it permanently. Outbox row, audit rows and ledger row are one transaction.
 *
 * @returns the outbox id
 * @throws SettledElsewhere
 */
export async function settleFailed(
  write: BegunWrite,
  failed: FailedDelivery,
  { logbook, audit, config }: SettleDeps,
  trx: Transaction,
): Promise<number> {
  const { memory } = write;
  const isDead = failed.class === 'permanent';
  const lastError = (failed.mergedInto === null ? failed.message : `merged_into:${failed.mergedInto}`).slice(
    0,
    MAX_ERROR_LENGTH,
  );
  const outboxId = await logbook.outbox.enqueueMemory(
    {
      ...memory,
      payload: memory.payload ?? '',
      requestedSpace: write.requestedSpace,
      principal: write.principal,
      status: isDead ? 'dead' : 'pending',
      lastError,
      lastErrorClass: failed.class,
      verifyFirst: !isDead && failed.applied === 'unknown',
      delaySeconds: firstDelaySeconds(failed, config.store_timeout_ms),
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
  if (!isDead) await logbook.ledger.queue(memory.memoryKey, outboxId, { trx });
  else if (failed.mergedInto === null) await logbook.ledger.moveToDeadLetter(memory.memoryKey, outboxId, { trx });
  else await logbook.ledger.markMerged(memory.memoryKey, outboxId, { trx });
  return outboxId;
}
