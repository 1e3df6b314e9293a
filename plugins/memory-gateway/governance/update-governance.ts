import { actorRefusal } from 'mortise/contracts/logbook';
import { MortiseError, type Transaction } from 'mortise/sdk';
import { databaseFailure, databaseUnavailable, isDatabaseDown } from '../errors.js';
import type { Gateway } from '../gateway.js';
import { isStringList } from '../policy/decide.js';
import { PrincipalRefused } from '../policy/principal-access.js';
import type { StoreContext } from '../store/store-memory.js';
import { type Authorisation, authorise } from './authorise.js';
import { acceptedResult, auditUpdate, refusedResult, type UpdateResult } from './update-outcome.js';
import { checkPolicy, readUpdateRequest, type UpdateRequest } from './update-request.js';

const INTERNAL = 'governance_update:internal_error';

function authoriseRequest(request: UpdateRequest, allowlist: unknown, { http }: Gateway): Authorisation {
  const { adminKey, actorUserId, principal } = request;
  return authorise({
    isKeyGiven: adminKey !== null,
    isKeyConfigured: http.adminKeyed,
    isKeyValid: adminKey !== null && http.isAdminKey(adminKey),
    actor: actorUserId,
    isActorVerified: principal.actor === actorUserId || (http.loopback && principal.loopback),
    allowlist: isStringList(allowlist) ? allowlist : [],
  });
}

async function auditRefused(
  request: UpdateRequest,
  reason: string,
  { audit, projectKey }: Gateway,
  trx?: Transaction,
): Promise<void> {
  await audit.write(auditUpdate(request, projectKey, { action: 'reject', reason, version: null }), { trx });
}

/** @throws PrincipalRefused after its audit row is committed. */
async function checkPrincipal(request: UpdateRequest, gateway: Gateway): Promise<void> {
  const refusal = actorRefusal(request.principal, request.claimedActor);
  if (refusal === undefined) return;
  await auditRefused(request, refusal.reason, gateway);
  const result = refusedResult(request, refusal.reason, refusal.explanation);
  throw new PrincipalRefused(refusal, `governance:${gateway.projectKey}`, result);
}

/** Authorises against the locked settings row, so that a concurrent change of the allowlist is not missed. */
async function authoriseAndChange(request: UpdateRequest, gateway: Gateway, trx: Transaction): Promise<UpdateResult> {
  const { logbook, audit, projectKey } = gateway;
  const { patch, actorUserId } = request;
  const locked = await logbook.settings.update(projectKey, {}, { trx, updatedBy: null });
  const verdict = authoriseRequest(request, locked.policy.allowlist_users, gateway);
  if (verdict.kind === 'reject') {
    await auditRefused(request, verdict.reason, gateway, trx);
    return refusedResult(request, verdict.reason, verdict.explanation);
  }
  // Only authorised callers see validation errors.
  const warnings = patch.policy === undefined ? [] : checkPolicy(patch.policy);
  const settings = await logbook.settings.update(projectKey, patch, { trx, updatedBy: actorUserId ?? 'admin' });
  const outcome = { action: 'allow' as const, reason: verdict.reason, version: settings.version };
  await audit.write(auditUpdate(request, projectKey, outcome), { trx });
  return acceptedResult(request, verdict.reason, settings, warnings);
}

async function failed(request: UpdateRequest, error: unknown, gateway: Gateway): Promise<UpdateResult> {
  const { database, log } = gateway;
  if (error instanceof MortiseError && error.status === 422) throw error;
  if (isDatabaseDown(database, error)) throw databaseUnavailable(error);
  log.error({ err: error, correlationId: request.correlationId }, 'The governance settings could not be changed.');
  try {
    await auditRefused(request, INTERNAL, gateway);
  } catch (auditError) {
    // Without an audit row there is no decision. (On a full disk the audit row alone may still fit.)
    throw databaseFailure(database, auditError);
  }
  const isFull = database.codec.errorKind(error) === 'full';
  const cause = isFull ? 'the database has no space left' : 'internal error';
  return refusedResult(request, INTERNAL, `${cause}, nothing was changed`);
}

/**
 * Changes who may write to shared spaces and what is allowed there, for a caller with the admin key or an actor on the
 * stored allowlist. Settings and audit row are one transaction. Refusals are audited and returned.
 *
 * @throws MortiseError `INVALID_PARAM_TYPE`, `INVALID_PARAM_VALUE` (only for authorised callers), `ACTOR_MISMATCH`,
 * `LOGBOOK_DB_UNAVAILABLE`, `LOGBOOK_DB_CHECK_FAILED`.
 */
export async function updateGovernance(
  args: Readonly<Record<string, unknown>>,
  ctx: StoreContext,
  gateway: Gateway,
): Promise<UpdateResult> {
  const request = readUpdateRequest(args, ctx);
  try {
    await checkPrincipal(request, gateway);
    ctx.signal.throwIfAborted();
    ctx.commit?.();
    return await gateway.database.transaction((trx) => authoriseAndChange(request, gateway, trx));
  } catch (error) {
    if (error instanceof PrincipalRefused || ctx.signal.aborted) throw error;
    return failed(request, error, gateway);
  }
}
