import type { CallContext } from 'mortise/sdk';
import { defaultSpace } from '../config.js';
import { databaseUnavailable, isDatabaseDown } from '../dependency-error.js';
import type { GatewayParts } from '../parts.js';
import { PrincipalRefused } from '../principal-refused.js';
import { BackendFailed, NewUserFailed, type WriteOutcome, WriteUnsettled } from '../write/write-job.js';
import { auditStore } from './audit-store.js';
import { checkPrincipal, checkRedirect, type PrincipalObjection } from './check-principal.js';
import { decideStore } from './decide-store.js';
import type { StoreDecision } from './decision.js';
import { readStoreRequest, type StoreRequest } from './store-request.js';
import {
  auditFailedResult,
  busyResult,
  duplicateResult,
  internalErrorResult,
  keptResult,
  newUserFailedResult,
  queuedResult,
  rejectedResult,
  type StoreResult,
  storedResult,
  unsettledResult,
} from './store-result.js';
import { writeStore } from './write-store.js';

export interface StoreContext extends CallContext {
  /** Called once the write begins: from then on its real outcome is awaited. */
  commit?(): void;
}

/** A request that ends without a memory, and how the caller hears of it. */
interface Refused {
  readonly reason: string;
  readonly result: StoreResult;
}

/** Writes the audit row of a request that stored nothing. The answer waits for it. */
async function auditRefused(
  request: StoreRequest,
  decision: StoreDecision | null,
  refused: Refused,
  parts: GatewayParts,
): Promise<StoreResult> {
  const audit = auditStore(request, decision, {
    action: 'reject',
    reason: refused.reason,
    status: 'failed',
    space: decision?.finalSpace ?? request.requestedSpace,
    memoryKey: null,
    memoryId: null,
    backend: null,
  });
  try {
    await parts.writer.submit({ kind: 'audit', audit });
    return refused.result;
  } catch (error) {
    return auditFailed(request, decision, error, parts);
  }
}

/** @throws MortiseError `LOGBOOK_DB_UNAVAILABLE` when that is why. */
function auditFailed(
  request: StoreRequest,
  decision: StoreDecision | null,
  error: unknown,
  parts: GatewayParts,
): StoreResult {
  if (isDatabaseDown(parts.database, error)) throw databaseUnavailable(error);
  parts.log.error({ err: error, correlationId: request.correlationId }, 'A memory could not be audited.');
  return auditFailedResult(request, decision);
}

async function refusePrincipal(
  request: StoreRequest,
  objection: PrincipalObjection,
  parts: GatewayParts,
): Promise<never> {
  const result = rejectedResult(request, null, objection);
  const audited = await auditRefused(request, null, { reason: objection.reason, result }, parts);
  throw new PrincipalRefused(objection.code, {
    reason: objection.reason,
    explanation: objection.explanation,
    space: request.requestedSpace,
    result: audited,
  });
}

/** Answers what the write came to. */
function resultOf(decision: StoreDecision, outcome: WriteOutcome): StoreResult {
  if (outcome.kind === 'stored') {
    const result = storedResult(decision, outcome.memoryId);
    return outcome.isDedup === true ? { ...result, dedup: true } : result;
  }
  if (outcome.kind === 'kept') return keptResult(decision, outcome);
  if (outcome.kind !== 'duplicate') return busyResult(decision);
  const { state, outboxId, backendMemoryId } = outcome.hit;
  if (state === 'queued' && outboxId !== null) return queuedResult(decision, outboxId);
  return duplicateResult(decision, backendMemoryId);
}

/** What a failed write is to its caller; undefined when the database failed, so that nothing can be audited either. */
function refusedBy(error: unknown, decision: StoreDecision): Refused | undefined {
  if (error instanceof NewUserFailed) {
    return { reason: 'actor_autocreate_failed', result: newUserFailedResult(decision, 'could not be created') };
  }
  if (error instanceof BackendFailed) {
    return { reason: 'internal_error', result: internalErrorResult(decision.request, decision) };
  }
  return undefined;
}

async function write(decision: StoreDecision, space: string, parts: GatewayParts): Promise<StoreResult> {
  const { request } = decision;
  try {
    const outcome = await writeStore(decision, space, parts);
    if (outcome.kind === 'actor_off') {
      const refused = { reason: 'actor_autocreate_failed', result: newUserFailedResult(decision, 'is switched off') };
      return auditRefused(request, decision, refused, parts);
    }
    const result = resultOf(decision, outcome);
    if (outcome.kind !== 'busy') return result;
    return auditRefused(request, decision, { reason: 'write_in_progress', result }, parts);
  } catch (error) {
    if (error instanceof WriteUnsettled) {
      parts.log.error({ err: error, correlationId: request.correlationId }, 'A write waits for its recovery.');
      return unsettledResult(decision);
    }
    const refused = refusedBy(error, decision);
    if (refused === undefined) return auditFailed(request, decision, error, parts);
    parts.log.error({ err: error, correlationId: request.correlationId }, 'A memory could not be written.');
    return auditRefused(request, decision, refused, parts);
  }
}

/**
 * Stores a memory: reads and normalises the request, decides where it may go, writes it, and answers truthfully.
 * No answer leaves before its audit row is committed.
 *
 * @throws MortiseError `INVALID_PARAM_VALUE`, `ACTOR_MISMATCH`, `SPACE_FORBIDDEN`, `LOGBOOK_DB_UNAVAILABLE`.
 */
export async function storeMemory(
  args: Readonly<Record<string, unknown>>,
  ctx: StoreContext,
  parts: GatewayParts,
): Promise<StoreResult> {
  const request = readStoreRequest(args, ctx, defaultSpace(parts.config, parts.projectKey));
  const forbidden = checkPrincipal(request);
  if (forbidden !== undefined) return refusePrincipal(request, forbidden, parts);
  let decision: StoreDecision;
  try {
    decision = await decideStore(request, parts, ctx);
  } catch (error) {
    if (isDatabaseDown(parts.database, error)) throw databaseUnavailable(error);
    parts.log.error({ err: error, correlationId: ctx.correlationId }, 'A memory could not be decided on.');
    const refused = { reason: 'internal_error', result: internalErrorResult(request, null) };
    return auditRefused(request, null, refused, parts);
  }
  const { objection, finalSpace } = decision;
  if (finalSpace === null) {
    const refusal = objection ?? { explanation: 'it was refused', reason: decision.reason };
    const result = rejectedResult(decision.request, decision, refusal);
    return auditRefused(decision.request, decision, { reason: decision.reason, result }, parts);
  }
  const elsewhere = checkRedirect(request, finalSpace);
  if (elsewhere !== undefined) return refusePrincipal(request, elsewhere, parts);
  ctx.signal.throwIfAborted();
  ctx.commit?.();
  return write(decision, finalSpace, parts);
}
