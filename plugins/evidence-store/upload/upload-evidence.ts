import type { Artifact } from 'mortise/contracts/evidence-store';
import { type CallContext, isCodedError, MortiseError, type ToolContext } from 'mortise/sdk';
import type { EvidenceParts } from '../parts.js';
import { auditUpload } from './audit-upload.js';
import { checkOwner } from './check-owner.js';
import { checkPolicies } from './check-policies.js';
import { guardTitle } from './guard-title.js';
import { extensionOf } from './media-type.js';
import { type Content, evidenceKey, missingArgument, type Refusal, readContent } from './read-content.js';
import { type KeptEvidence, type RecordedEvidence, recordEvidence } from './record-evidence.js';
import { type UploadFailure, uploadFailure } from './upload-error.js';
import { checkUploadRequest, readUploadRequest, type UploadRequest } from './upload-request.js';

export interface UploadSuccess {
  readonly ok: true;
  readonly item_id: number;
  readonly attachment_id: number;
  readonly sha256: string;
  readonly evidence: Readonly<Record<string, unknown>>;
  readonly artifact_uri: string;
  readonly size_bytes: number;
  readonly content_type: string;
  readonly deduplicated: boolean;
  readonly correlation_id: string;
  readonly warnings?: readonly string[];
}

type Context = CallContext & Pick<ToolContext, 'commit'>;

async function auditRefused(
  request: UploadRequest,
  reason: string,
  content: Content | null,
  { audit, projectKey }: EvidenceParts,
): Promise<void> {
  await audit.write(auditUpload(request, projectKey, { action: 'reject', reason, content }));
}

async function refuse(
  request: UploadRequest,
  { code, facts }: Refusal,
  content: Content | null,
  parts: EvidenceParts,
): Promise<UploadFailure> {
  await auditRefused(request, `evidence_upload:${code}`, content, parts);
  return uploadFailure(code, facts, request.correlationId);
}

/** A key that is bound to one actor acts for no other. @throws MortiseError `ACTOR_MISMATCH`, after its audit row. */
async function checkPrincipal(request: UploadRequest, parts: EvidenceParts): Promise<void> {
  const { principal, claimedActor } = request;
  if (principal.actor === undefined || claimedActor === null || claimedActor === principal.actor) return;
  await auditRefused(request, 'actor_mismatch', null, parts);
  throw new MortiseError('ACTOR_MISMATCH', 'The request was refused: this key acts for another user.', {
    status: 403,
    details: { category: 'business' },
  });
}

async function refuseActor(
  request: UploadRequest,
  actor: string,
  content: Content,
  parts: EvidenceParts,
): Promise<never> {
  await auditRefused(request, 'actor_unknown:reject', content, parts);
  throw new MortiseError('ACTOR_UNKNOWN', `The request was refused: the actor ${actor} is unknown.`, {
    status: 403,
    details: { category: 'business', actor_user_id: actor },
  });
}

/** @throws MortiseError `POLICY_REJECT`, after its audit row. */
async function refuseByPolicy(
  request: UploadRequest,
  { reason, message }: { readonly reason: string; readonly message: string },
  content: Content,
  parts: EvidenceParts,
): Promise<never> {
  await auditRefused(request, reason, content, parts);
  throw new MortiseError('POLICY_REJECT', `The request was refused: ${message} (${reason}).`, {
    status: 403,
    details: { category: 'business', policy_reason: reason },
  });
}

/** The file; null when the store failed. */
async function keep(
  request: UploadRequest,
  content: Content,
  signal: AbortSignal,
  { artifacts, config, log }: EvidenceParts,
): Promise<Artifact | null> {
  const extension = extensionOf(content.contentType);
  const key = evidenceKey(content, config.evidence_artifacts_prefix, request.projectKey, extension);
  try {
    return await artifacts.put(key, content.data, { signal, replace: true });
  } catch (error) {
    signal.throwIfAborted();
    const cause = isCodedError(error) ? { code: error.code, ...error.details } : { err: error };
    log.error({ ...cause, correlationId: request.correlationId }, 'A piece of evidence could not be written.');
    return null;
  }
}

/** What keeps the file from being written, a full disk, may keep its audit row from it too: the cause is told all the same. */
async function unwritten(request: UploadRequest, content: Content, parts: EvidenceParts): Promise<UploadFailure> {
  const refusal: Refusal = { code: 'EVIDENCE_WRITE_ERROR', facts: {} };
  try {
    return await refuse(request, refusal, content, parts);
  } catch (error) {
    if (parts.database.codec.errorKind(error) !== 'full') throw error;
    parts.log.error({ err: error, correlationId: request.correlationId }, 'A refused upload could not be audited.');
    return uploadFailure(refusal.code, refusal.facts, request.correlationId);
  }
}

/**
 * Item, attachment and audit row. A file whose rows could not be committed stays: nothing refers to it, another upload of
 * the same bytes may just be about to, and the next one takes it.
 */
async function record(
  request: UploadRequest,
  kept: KeptEvidence,
  parts: EvidenceParts,
): Promise<RecordedEvidence | null> {
  try {
    return await recordEvidence(request, kept, parts);
  } catch (error) {
    if (parts.database.codec.errorKind(error) === 'unavailable') throw error;
    await auditRefused(request, 'internal_error', kept.content, parts);
    throw error;
  }
}

/**
 * Keeps a piece of evidence: everything is checked before anything is made, the file before the rows that point at it,
 * and the rows in one transaction with their audit row. Refusals are audited and answered.
 *
 * @throws MortiseError `INVALID_PARAM_VALUE`, `ACTOR_MISMATCH`, `ACTOR_UNKNOWN`, `POLICY_REJECT`, or what the database
 * throws.
 */
export async function uploadEvidence(
  args: Readonly<Record<string, unknown>>,
  ctx: Context,
  parts: EvidenceParts,
): Promise<UploadSuccess | UploadFailure> {
  const asked = readUploadRequest(args, ctx);
  await checkPrincipal(asked, parts);
  const missing = missingArgument(asked, parts.config.evidence_allowed_types);
  if (missing !== undefined) return refuse(asked, missing, null, parts);
  checkUploadRequest(asked);
  const content = readContent(asked, parts.config);
  if ('code' in content) return refuse(asked, content, null, parts);
  const owner = await checkOwner(asked, parts.logbook.users, parts.config.unknown_actor_policy);
  if (owner.kind === 'unknown') return refuseActor(asked, owner.actor, content, parts);
  const noItem: Refusal = { code: 'EVIDENCE_ITEM_NOT_FOUND', facts: { item_id: asked.itemId } };
  if (asked.itemId !== null && (await parts.logbook.items.get(asked.itemId)) === null) {
    return refuse(asked, noItem, content, parts);
  }
  const guarded = await guardTitle(asked, parts);
  if (guarded.kind === 'reject') return refuseByPolicy(asked, guarded, content, parts);
  const { request, warnings } = guarded;
  const objection = await checkPolicies(request, content, ctx, parts);
  if (objection !== undefined) return refuseByPolicy(request, objection, content, parts);
  const artifact = await keep(request, content, ctx.signal, parts);
  if (artifact === null) return unwritten(request, content, parts);
  ctx.signal.throwIfAborted();
  ctx.commit?.();
  const recorded = await record(request, { content, artifact, owner }, parts);
  if (recorded === null) return refuse(request, noItem, content, parts);
  const { attachment, deduplicated, evidence } = recorded;
  return {
    ok: true,
    item_id: attachment.itemId,
    attachment_id: attachment.attachmentId,
    sha256: content.sha256,
    evidence,
    artifact_uri: attachment.uri,
    size_bytes: content.data.byteLength,
    content_type: content.contentType,
    deduplicated,
    correlation_id: request.correlationId,
    ...(warnings.length === 0 ? {} : { warnings }),
  };
}
