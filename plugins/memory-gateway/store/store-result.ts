import type { WriteOutcome } from '../write/write-job.js';
import type { StoreDecision } from './decision.js';
import type { StoreRequest } from './store-request.js';

/** What `memory_store` answers, in the order of its members. */
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

/** The members that every answer to a request shares. */
function answer(
  request: StoreRequest,
  decision: StoreDecision | null,
  rest: Pick<StoreResult, 'ok' | 'action' | 'message' | 'reason'> & Partial<StoreResult>,
): StoreResult {
  const { error_code, retryable, ...members } = rest;
  const warnings = decision?.warnings ?? [];
  return {
    ok: members.ok,
    action: members.action,
    space_written: members.space_written ?? null,
    memory_id: members.memory_id ?? null,
    evidence_refs: request.evidence.refs,
    message: members.message,
    outbox_id: members.outbox_id ?? null,
    outbox_status: members.outbox_status ?? null,
    correlation_id: request.correlationId,
    reason: members.reason,
    requested_space: request.requestedSpace,
    final_space: decision?.finalSpace ?? null,
    dedup: members.dedup ?? false,
    ...(error_code === undefined ? {} : { error_code }),
    ...(retryable === undefined ? {} : { retryable }),
    ...(warnings.length === 0 ? {} : { warnings }),
  };
}

function joined(...sentences: readonly (string | null)[]): string | null {
  const said = sentences.filter((sentence) => sentence !== null);
  return said.length === 0 ? null : said.join(' ');
}

/** Where a redirected memory went, and why. */
function redirectSentence({ request, objection, finalSpace }: StoreDecision): string | null {
  if (objection === null) return null;
  const why = `${objection.explanation} (${objection.shown ?? objection.reason})`;
  return `Stored in ${finalSpace} instead of ${request.requestedSpace}: ${why}.`;
}

function redactSentence({ isRedacted, secrets, secretPlaces }: StoreDecision): string | null {
  if (!isRedacted) return null;
  const places = secretPlaces.map((place) => (place === 'the content' ? 'the text' : place)).join(', ');
  return secrets === 1 ? `One secret was taken out of ${places}.` : `${secrets} secrets were taken out of ${places}.`;
}

/** The action of a memory that is in a space: as asked, or elsewhere. */
export function actionOf(decision: StoreDecision): 'allow' | 'redirect' {
  return decision.objection === null ? 'allow' : 'redirect';
}

export function storedResult(decision: StoreDecision, memoryId: string): StoreResult {
  return answer(decision.request, decision, {
    ok: true,
    action: actionOf(decision),
    space_written: decision.finalSpace,
    memory_id: memoryId,
    message: joined(redirectSentence(decision), redactSentence(decision)),
    reason: decision.reason,
  });
}

export function duplicateResult(decision: StoreDecision, memoryId: string | null): StoreResult {
  const hit = `dedup_hit: the same memory is already in ${decision.finalSpace}.`;
  return answer(decision.request, decision, {
    ok: true,
    action: actionOf(decision),
    space_written: decision.finalSpace,
    memory_id: memoryId,
    message: joined(hit, redirectSentence(decision)?.replace(/^Stored in/, 'Kept in') ?? null),
    reason: 'dedup_hit',
    dedup: true,
  });
}

/** The same memory waits in the outbox already. */
export function queuedResult(decision: StoreDecision, outboxId: number): StoreResult {
  return answer(decision.request, decision, {
    ok: false,
    action: 'redirect',
    message: `already queued: the same memory waits in the outbox (outbox_id=${outboxId}) and will be delivered.`,
    outbox_id: outboxId,
    outbox_status: 'pending',
    reason: 'dedup_pending',
    dedup: true,
  });
}

/** The backend did not take it: the memory waits in the outbox, or is kept there as a dead letter. */
export function keptResult(decision: StoreDecision, kept: Extract<WriteOutcome, { kind: 'kept' }>): StoreResult {
  const { outboxId, isDead, failed } = kept;
  const message = isDead
    ? `The memory backend did not take the memory: ${failed.message}. It is kept as a dead letter (outbox_id=${outboxId}) and will not be sent again by itself.`
    : `The memory backend is unavailable (${failed.message}). The memory is safe in the outbox (outbox_id=${outboxId}) and will be delivered automatically; do not store it again.`;
  return answer(decision.request, decision, {
    ok: false,
    action: 'redirect',
    message: joined(message, redactSentence(decision)),
    outbox_id: outboxId,
    outbox_status: isDead ? 'dead' : 'pending',
    reason: `OPENMEMORY_WRITE_FAILED:${failed.detail}`,
  });
}

/** The backend was called, but what came of it could not be written. */
export function unsettledResult(decision: StoreDecision): StoreResult {
  return answer(decision.request, decision, {
    ok: false,
    action: 'error',
    message: 'The outcome of the write is unknown and will be settled shortly; look before storing the memory again.',
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
  return answer(request, decision, {
    ok: false,
    action: 'reject',
    message: `Rejected by policy: ${objection.explanation} (${objection.shown ?? objection.reason}).`,
    reason: objection.reason,
  });
}

/** Another process writes the same memory and has not finished. */
export function busyResult(decision: StoreDecision): StoreResult {
  return answer(decision.request, decision, {
    ok: false,
    action: 'error',
    message: 'The same memory is being written by another process; try again.',
    reason: 'write_in_progress',
    error_code: 'WRITE_IN_PROGRESS',
    retryable: true,
  });
}

/** Nothing was written because the audit row could not be. */
export function auditFailedResult(request: StoreRequest, decision: StoreDecision | null): StoreResult {
  return answer(request, decision, {
    ok: false,
    action: 'error',
    message: 'The memory was not stored, because its audit row could not be written.',
    reason: null,
    error_code: 'AUDIT_WRITE_FAILED',
    retryable: true,
  });
}

/** The actor could not be made a user. */
export function newUserFailedResult(
  decision: StoreDecision,
  why: 'could not be created' | 'is switched off',
): StoreResult {
  return answer(decision.request, decision, {
    ok: false,
    action: 'error',
    message: `The memory was not stored, because its actor ${why}.`,
    reason: 'actor_autocreate_failed',
    error_code: 'INTERNAL_ERROR',
    retryable: false,
  });
}

export function internalErrorResult(request: StoreRequest, decision: StoreDecision | null): StoreResult {
  return answer(request, decision, {
    ok: false,
    action: 'error',
    message: `Internal error (${request.correlationId})`,
    reason: 'internal_error',
    error_code: 'INTERNAL_ERROR',
    retryable: false,
  });
}
