import { MortiseError, type Transaction } from 'mortise/sdk';
import { databaseFailure, databaseUnavailable, isDatabaseDown } from '../dependency-error.js';
import type { GatewayParts } from '../parts.js';
import { PrincipalRefused } from '../principal-refused.js';
import type { StoreContext } from '../store/store-memory.js';
import { auditUpdate } from './audit-update.js';
import { type Authorisation, authorise } from './authorise.js';
import { checkPolicy } from './check-policy.js';
import { checkPolicyText, readUpdateRequest, type UpdateRequest } from './update-request.js';
import { acceptedResult, refusedResult, type UpdateResult } from './update-result.js';

const INTERNAL = 'governance_update:internal_error';

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

function judge(request: UpdateRequest, allowlist: unknown, { http }: GatewayParts): Authorisation {
  const { adminKey, actorUserId, principal } = request;
  return authorise({
    isKeyGiven: adminKey !== null,
    isKeyConfigured: http.adminKeyed,
    isKeyRight: adminKey !== null && http.isAdminKey(adminKey),
    actor: actorUserId,
    isActorProven: principal.actor === actorUserId || (http.loopback && principal.loopback),
    allowlist: isTexts(allowlist) ? allowlist : [],
  });
}

async function auditRefused(
  request: UpdateRequest,
  reason: string,
  { audit, projectKey }: GatewayParts,
  trx?: Transaction,
): Promise<void> {
  await audit.write(auditUpdate(request, projectKey, { action: 'reject', reason, version: null }), { trx });
}

/** A key that is bound to one actor acts for no other. */
async function checkPrincipal(request: UpdateRequest, parts: GatewayParts): Promise<void> {
  const { principal, claimedActor } = request;
  if (principal.actor === undefined || claimedActor === null || claimedActor === principal.actor) return;
  const refusal = { reason: 'actor_mismatch', explanation: 'this key acts for another user' };
  await auditRefused(request, refusal.reason, parts);
  throw new PrincipalRefused('ACTOR_MISMATCH', {
    ...refusal,
    space: `governance:${parts.projectKey}`,
    result: refusedResult(request, refusal.reason, refusal.explanation),
  });
}

/** Decides by the settings that it holds the lock of, so that nobody is let in by a list that is being changed. */
async function decideAndChange(request: UpdateRequest, parts: GatewayParts, trx: Transaction): Promise<UpdateResult> {
  const { logbook, audit, projectKey } = parts;
  const { patch, actorUserId } = request;
  const locked = await logbook.settings.update(projectKey, {}, { trx, updatedBy: null });
  const verdict = judge(request, locked.policy.allowlist_users, parts);
  if (verdict.kind === 'reject') {
    await auditRefused(request, verdict.reason, parts, trx);
    return refusedResult(request, verdict.reason, verdict.explanation);
  }
  // Only who may change the policy is told what a policy may hold.
  const warnings = checkPolicy(patch.policy ?? {});
  if (patch.policy !== undefined) checkPolicyText(patch.policy);
  const settings = await logbook.settings.update(projectKey, patch, { trx, updatedBy: actorUserId ?? 'admin' });
  const outcome = { action: 'allow' as const, reason: verdict.reason, version: settings.version };
  await audit.write(auditUpdate(request, projectKey, outcome), { trx });
  return acceptedResult(request, verdict.reason, settings, warnings);
}

async function failed(request: UpdateRequest, error: unknown, parts: GatewayParts): Promise<UpdateResult> {
  if (error instanceof MortiseError && error.status === 422) throw error;
  if (isDatabaseDown(parts.database, error)) throw databaseUnavailable(error);
  parts.log.error(
    { err: error, correlationId: request.correlationId },
    'The governance settings could not be changed.',
  );
  try {
    await auditRefused(request, INTERNAL, parts);
  } catch (unaudited) {
    // A full disk, say: what cannot be audited is no decision. A refusal that is audited needs less space than a change.
    throw databaseFailure(parts.database, unaudited);
  }
  const isFull = parts.database.codec.errorKind(error) === 'full';
  const cause = isFull ? 'the database has no space left' : 'internal error';
  return refusedResult(request, INTERNAL, `${cause}, nothing was changed`);
}

/**
 * Changes who may write to shared spaces and what they take, for who has the admin key or is on the stored allowlist.
 * Settings and audit row are one transaction. Refusals are audited and answered.
 *
 * @throws MortiseError `INVALID_PARAM_TYPE`, `INVALID_PARAM_VALUE` (only for who is authorised), `ACTOR_MISMATCH`,
 * `LOGBOOK_DB_UNAVAILABLE`, `LOGBOOK_DB_CHECK_FAILED`.
 */
export async function updateGovernance(
  args: Readonly<Record<string, unknown>>,
  ctx: StoreContext,
  parts: GatewayParts,
): Promise<UpdateResult> {
  const request = readUpdateRequest(args, ctx);
  try {
    await checkPrincipal(request, parts);
    ctx.signal.throwIfAborted();
    ctx.commit?.();
    return await parts.database.transaction((trx) => decideAndChange(request, parts, trx));
  } catch (error) {
    if (error instanceof PrincipalRefused || ctx.signal.aborted) throw error;
    return failed(request, error, parts);
  }
}
