import type { OutboxDelivery } from 'mortise/contracts/memory-gateway';
import { isCodedError } from 'mortise/sdk';
import type { WriteOutcome } from '../write/write-job.js';
import type { StoreDecision } from './decide-store.js';
import type { StoreRequest } from './store-request.js';

/** The result of `memory_store`. The order of the members is part of the contract. */
export interface StoreResult {
  readonly ok: boolean;
  readonly action: 'allow' | 'redirect' | 'reject' | 'error';
  readonly space_written: string | null;
  readonly memory_id: string | null;
  readonly evidence_refs: readonly string[] | null;
  readonly message: string | null;
  readonly outbox_id: number | null;
  readonly outbox_status: 'pending' | 'dead' | null;
  readonly correlation_id: string;
  /** The audit reason. */
  readonly reason: string | null;
  readonly requested_space: string | null;
  readonly final_space: string | null;
  readonly dedup: boolean;
  readonly error_code?: string;
  readonly retryable?: boolean;
  readonly warnings?: readonly string[];
}

function result(
  request: StoreRequest,
  decision: StoreDecision | null,
  rest: Pick<StoreResult, 'ok' | 'action' | 'message' | 'reason'> & Partial<StoreResult>,
): StoreResult {
  const warnings = decision?.warnings ?? [];
  return {
    ok: rest.ok,
    action: rest.action,
    space_written: rest.space_written ?? null,
    memory_id: rest.memory_id ?? null,
    evidence_refs: request.evidence.refs,
    message: rest.message,
    outbox_id: rest.outbox_id ?? null,
    outbox_status: rest.outbox_status ?? null,
    correlation_id: request.correlationId,
    reason: rest.reason,
    requested_space: request.requestedSpace,
    final_space: decision?.finalSpace ?? null,
    dedup: rest.dedup ?? false,
    ...(rest.error_code === undefined ? {} : { error_code: rest.error_code }),
    ...(rest.retryable === undefined ? {} : { retryable: rest.retryable }),
    ...(warnings.length === 0 ? {} : { warnings }),
  };
}

function joined(...sentences: readonly (string | null)[]): string | null {
  const present = sentences.filter((sentence) => sentence !== null);
  return present.length === 0 ? null : present.join(' ');
}

/** Where a redirected memory was stored, and why. */
function redirectSentence(verb: 'Stored' | 'Kept', { request, objection, finalSpace }: StoreDecision): string | null {
  if (objection === null) return null;
  const why = `${objection.explanation} (${objection.shown ?? objection.reason})`;
  return `${verb} in ${finalSpace} instead of ${request.requestedSpace}: ${why}.`;
}

function redactSentence({ isRedacted, secrets, secretPlaces }: StoreDecision): string | null {
  if (!isRedacted) return null;
  const places = secretPlaces.map((place) => (place === 'the content' ? 'the text' : place)).join(', ');
  return secrets === 1 ? `One secret was removed from ${places}.` : `${secrets} secrets were removed from ${places}.`;
}

/** The action for a memory that is stored: in the requested space, or elsewhere. */
export function actionOf(decision: StoreDecision): 'allow' | 'redirect' {
  return decision.objection === null ? 'allow' : 'redirect';
}

export function storedResult(decision: StoreDecision, memoryId: string): StoreResult {
  return result(decision.request, decision, {
    ok: true,
    action: actionOf(decision),
    space_written: decision.finalSpace,
    memory_id: memoryId,
    message: joined(redirectSentence('Stored', decision), redactSentence(decision)),
    reason: decision.reason,
  });
}

export function duplicateResult(decision: StoreDecision, memoryId: string | null): StoreResult {
  const hit = `dedup_hit: the same memory is already in ${decision.finalSpace}.`;
  return result(decision.request, decision, {
    ok: true,
    action: actionOf(decision),
    space_written: decision.finalSpace,
    memory_id: memoryId,
    message: joined(hit, redirectSentence('Kept', decision)),
    reason: 'dedup_hit',
    dedup: true,
  });
}

/** When a row of the outbox will be delivered. @param here the text while this server delivers */
function deliveryText(here: string, delivery: OutboxDelivery): string {
  if (delivery === 'here') return here;
  if (delivery === 'elsewhere') return 'will be delivered by the next run of an outbox worker';
  return 'will be delivered once the plugin memory-outbox is active';
}

/** The same memory is already in the outbox. */
export function queuedResult(decision: StoreDecision, outboxId: number, delivery: OutboxDelivery): StoreResult {
  return result(decision.request, decision, {
    ok: false,
    action: 'redirect',
    message: `already queued: the same memory waits in the outbox (outbox_id=${outboxId}) and ${deliveryText('will be delivered', delivery)}.`,
    outbox_id: outboxId,
    outbox_status: 'pending',
    reason: 'dedup_pending',
    dedup: true,
  });
}

/** The backend did not accept the memory: it is in the outbox, pending or as a dead letter. */
export function outboxResult(
  decision: StoreDecision,
  { outboxId, isDead, failed }: Extract<WriteOutcome, { kind: 'outbox' }>,
  delivery: OutboxDelivery,
): StoreResult {
  const message = isDead
    ? `The memory backend did not accept the memory: ${failed.message}. It is kept as a dead letter (outbox_id=${outboxId}) and will not be retried automatically.`
    : `The memory backend is unavailable (${failed.message}). The memory is safe in the outbox (outbox_id=${outboxId}) and ${deliveryText('will be delivered automatically', delivery)}; do not store it again.`;
  return result(decision.request, decision, {
    ok: false,
    action: 'redirect',
    message: joined(message, redactSentence(decision)),
    outbox_id: outboxId,
    outbox_status: isDead ? 'dead' : 'pending',
    reason: `OPENMEMORY_WRITE_FAILED:${failed.detail}`,
  });
}

/** The backend was called, but the outcome could not be committed. */
export function unsettledResult(decision: StoreDecision): StoreResult {
  return result(decision.request, decision, {
    ok: false,
    action: 'error',
    message:
      'The outcome of the write is unknown and will be settled shortly; query for the memory before storing it again.',
    reason: null,
    error_code: 'AUDIT_WRITE_FAILED',
    retryable: false,
  });
}

export function rejectedResult(
  request: StoreRequest,
  decision: StoreDecision | null,
  objection: { readonly explanation: string; readonly reason: string; readonly shown?: string },
): StoreResult {
  return result(request, decision, {
    ok: false,
    action: 'reject',
    message: `Rejected by policy: ${objection.explanation} (${objection.shown ?? objection.reason}).`,
    reason: objection.reason,
  });
}

/** Another process is writing the same memory and did not finish in time. */
export function busyResult(decision: StoreDecision): StoreResult {
  return result(decision.request, decision, {
    ok: false,
    action: 'error',
    message: 'The same memory is being written by another process; try again.',
    reason: 'write_in_progress',
    error_code: 'WRITE_IN_PROGRESS',
    retryable: true,
  });
}

/** The audit row could not be written, so nothing was. The message includes an error of the database. */
export function auditFailedResult(request: StoreRequest, decision: StoreDecision | null, error: unknown): StoreResult {
  const causes = [error, (error as { readonly cause?: unknown } | undefined)?.cause];
  const known = causes.find((one) => isCodedError(one) && one.code.startsWith('database_'));
  const why = known instanceof Error ? ` ${known.message}` : '';
  return result(request, decision, {
    ok: false,
    action: 'error',
    message: `The memory was not stored, because its audit row could not be written.${why}`,
    reason: null,
    error_code: 'AUDIT_WRITE_FAILED',
    retryable: true,
  });
}

/** The unknown actor could not become a user. */
export function newUserFailedResult(decision: StoreDecision, why: 'could not be created' | 'is disabled'): StoreResult {
  return result(decision.request, decision, {
    ok: false,
    action: 'error',
    message: `The memory was not stored, because its actor ${why}.`,
    reason: 'actor_autocreate_failed',
    error_code: 'INTERNAL_ERROR',
    retryable: false,
  });
}

export function internalErrorResult(request: StoreRequest, decision: StoreDecision | null): StoreResult {
  return result(request, decision, {
    ok: false,
    action: 'error',
    message: `Internal error (${request.correlationId})`,
    reason: 'internal_error',
    error_code: 'INTERNAL_ERROR',
    retryable: false,
  });
}
