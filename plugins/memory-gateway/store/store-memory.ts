import { type AccessRefusal, actorRefusal } from 'mortise/contracts/logbook';
import { mayUseSpace } from 'mortise/contracts/memory-gateway';
import type { CallContext, ToolContext } from 'mortise/sdk';
import { databaseUnavailable, isDatabaseDown } from '../errors.js';
import type { Gateway } from '../gateway.js';
import { privateSpaceOf } from '../policy/decide.js';
import { PrincipalRefused, spaceForbidden } from '../policy/principal-access.js';
import { BackendFailed, NewUserFailed, type WriteOutcome, WriteUnsettled } from '../write/write-job.js';
import { auditStore } from './audit-store.js';
import { decideStore, type StoreDecision } from './decide-store.js';
import { readStoreRequest, type StoreRequest } from './store-request.js';
import {
  auditFailedResult,
  busyResult,
  duplicateResult,
  internalErrorResult,
  newUserFailedResult,
  outboxResult,
  queuedResult,
  rejectedResult,
  type StoreResult,
  storedResult,
  unsettledResult,
} from './store-result.js';
import { writeStore } from './write-store.js';

export interface StoreContext extends CallContext, Pick<ToolContext, 'session'> {
  /** Called when the write begins: from then on the caller must wait for the outcome. */
  commit?(): void;
}

/** The result of a request that stored nothing, and its audit reason. */
interface Refused {
  readonly reason: string;
  readonly result: StoreResult;
}

/** @throws MortiseError `LOGBOOK_DB_UNAVAILABLE` when the database cannot be reached. */
function auditFailed(
  request: StoreRequest,
  decision: StoreDecision | null,
  error: unknown,
  { database, log }: Gateway,
): StoreResult {
  if (isDatabaseDown(database, error)) throw databaseUnavailable(error);
  log.error({ err: error, correlationId: request.correlationId }, 'The audit row of a memory could not be written.');
  return auditFailedResult(request, decision, error);
}

/** Commits the audit row of a request that stored nothing, then returns its result. */
async function refuse(
  request: StoreRequest,
  decision: StoreDecision | null,
  { reason, result }: Refused,
  gateway: Gateway,
): Promise<StoreResult> {
  const audit = auditStore(request, decision, {
    action: 'reject',
    reason,
    status: 'failed',
    space: decision?.finalSpace ?? request.requestedSpace,
    memoryKey: null,
    memoryId: null,
    backend: null,
  });
  try {
    await gateway.writer.submit({ kind: 'audit', audit });
    return result;
  } catch (error) {
    return auditFailed(request, decision, error, gateway);
  }
}

/** @throws PrincipalRefused after its audit row is committed. */
async function refusePrincipal(request: StoreRequest, refusal: AccessRefusal, gateway: Gateway): Promise<never> {
  const result = rejectedResult(request, null, refusal);
  const audited = await refuse(request, null, { reason: refusal.reason, result }, gateway);
  throw new PrincipalRefused(refusal, request.requestedSpace, audited);
}

/** The space of unknown actors, which belongs to no principal. */
const UNKNOWN_ACTORS = privateSpaceOf(null);

/** Whether the caller's key allows the space that the memory is redirected to. */
function redirectRefusal({ principal, requestedSpace }: StoreRequest, space: string): AccessRefusal | undefined {
  if (space === requestedSpace || space === UNKNOWN_ACTORS || mayUseSpace(principal, space)) return undefined;
  return { ...spaceForbidden, explanation: 'this key may not use the space that the policy redirects to' };
}

/** The result of a write that did not fail. */
function resultOf(decision: StoreDecision, outcome: WriteOutcome, { backend }: Gateway): StoreResult {
  if (outcome.kind === 'stored') {
    const result = storedResult(decision, outcome.memoryId);
    return outcome.isDedup === true ? { ...result, dedup: true } : result;
  }
  if (outcome.kind === 'outbox') return outboxResult(decision, outcome, backend.outboxDelivery);
  if (outcome.kind !== 'duplicate') return busyResult(decision);
  const { state, outboxId, backendMemoryId } = outcome.hit;
  if (state === 'queued' && outboxId !== null) return queuedResult(decision, outboxId, backend.outboxDelivery);
  return duplicateResult(decision, backendMemoryId);
}

/** The refusal for a failed write; undefined when the database failed, so that it cannot be audited. */
function refusedBy(error: unknown, decision: StoreDecision): Refused | undefined {
  if (error instanceof NewUserFailed) {
    return { reason: 'actor_autocreate_failed', result: newUserFailedResult(decision, 'could not be created') };
  }
  if (error instanceof BackendFailed) {
    return { reason: 'internal_error', result: internalErrorResult(decision.request, decision) };
  }
  return undefined;
}

/** Writes a memory and turns the outcome into the result. */
async function write(decision: StoreDecision, space: string, gateway: Gateway): Promise<StoreResult> {
  const { request } = decision;
  const { correlationId } = request;
  try {
    const outcome = await writeStore(decision, space, gateway);
    if (outcome.kind === 'actor_disabled') {
      const refused = { reason: 'actor_autocreate_failed', result: newUserFailedResult(decision, 'is disabled') };
      return refuse(request, decision, refused, gateway);
    }
    const result = resultOf(decision, outcome, gateway);
    if (outcome.kind !== 'busy') return result;
    return refuse(request, decision, { reason: 'write_in_progress', result }, gateway);
  } catch (error) {
    if (error instanceof WriteUnsettled) {
      gateway.log.error({ err: error, correlationId }, 'Recovery will determine the outcome of a write.');
      return unsettledResult(decision);
    }
    const refused = refusedBy(error, decision);
    if (refused === undefined) return auditFailed(request, decision, error, gateway);
    gateway.log.error({ err: error, correlationId }, 'A memory could not be written.');
    return refuse(request, decision, refused, gateway);
  }
}

/**
 * Stores a memory. The order of a store:
 *
 * 1. read and validate the arguments
 * 2. check that the caller's key allows the actor and the space
 * 3. decide: settings, actor, evidence, content guard, checks of other plugins, policy (`decideStore`)
 * 4. check that the caller's key allows the space that was decided
 * 5. write: one transaction with the audit row, the backend, and the outcome or the outbox (`writeStore`)
 *
 * The result is returned only after its audit row is committed.
 *
 * @throws MortiseError `INVALID_PARAM_VALUE`, `ACTOR_MISMATCH`, `SPACE_FORBIDDEN`, `LOGBOOK_DB_UNAVAILABLE`.
 */
export async function storeMemory(
  args: Readonly<Record<string, unknown>>,
  ctx: StoreContext,
  gateway: Gateway,
): Promise<StoreResult> {
  const request = readStoreRequest(args, ctx, gateway.defaultSpace);
  const { principal, claimedActor, requestedSpace, correlationId } = request;
  const forbidden =
    actorRefusal(principal, claimedActor) ?? (mayUseSpace(principal, requestedSpace) ? undefined : spaceForbidden);
  if (forbidden !== undefined) return refusePrincipal(request, forbidden, gateway);

  let decision: StoreDecision;
  try {
    decision = await decideStore(request, ctx, gateway);
  } catch (error) {
    if (isDatabaseDown(gateway.database, error)) throw databaseUnavailable(error);
    gateway.log.error({ err: error, correlationId }, 'A decision on a memory failed.');
    const refused = { reason: 'internal_error', result: internalErrorResult(request, null) };
    return refuse(request, null, refused, gateway);
  }
  const { objection, finalSpace, reason } = decision;
  if (finalSpace === null) {
    const refusal = objection ?? { explanation: 'it was refused', reason };
    const result = rejectedResult(decision.request, decision, refusal);
    return refuse(decision.request, decision, { reason, result }, gateway);
  }
  const forbiddenRedirect = redirectRefusal(request, finalSpace);
  if (forbiddenRedirect !== undefined) return refusePrincipal(request, forbiddenRedirect, gateway);

  ctx.signal.throwIfAborted();
  ctx.commit?.();
  return write(decision, finalSpace, gateway);
}
