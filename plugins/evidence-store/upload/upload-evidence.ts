import type { Artifact } from 'mortise/contracts/evidence-store';
import { AccessRefused, actorRefusal } from 'mortise/contracts/logbook';
import {
  contentGuardPolicy,
  type MemoryPolicyVerdict,
  memoryPolicyChecks,
  runMemoryPolicy,
} from 'mortise/contracts/memory-gateway';
import { type CallContext, isCodedError, MortiseError, redactSecrets, type ToolContext } from 'mortise/sdk';
import { type Content, extensionOf, missingArgument, type Refusal, readContent } from './read-content.js';
import {
  auditUpload,
  evidenceSpace,
  findOwner,
  type RecordedEvidence,
  recordEvidence,
  type UploadDeps,
  type WrittenEvidence,
} from './record-evidence.js';
import { type UploadFailure, uploadFailure } from './upload-error.js';
import { checkUploadRequest, readUploadRequest, type UploadRequest, unknownArguments } from './upload-request.js';

interface UploadSuccess {
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
}

type UploadResult = (UploadSuccess | UploadFailure) & { readonly warnings?: readonly string[] };

type Context = CallContext & Pick<ToolContext, 'commit'>;

async function auditRefused(
  request: UploadRequest,
  reason: string,
  content: Content | null,
  { audit, projectKey }: UploadDeps,
): Promise<void> {
  await audit.write(auditUpload(request, projectKey, { action: 'reject', reason, content }));
}

/** Audits a refusal and returns its result. */
async function refuse(
  request: UploadRequest,
  { code, facts }: Refusal,
  content: Content | null,
  deps: UploadDeps,
): Promise<UploadFailure> {
  await auditRefused(request, `evidence_upload:${code}`, content, deps);
  return uploadFailure(code, facts, request.correlationId);
}

/** @throws AccessRefused `ACTOR_MISMATCH`, after its audit row. */
async function checkPrincipal(request: UploadRequest, deps: UploadDeps): Promise<void> {
  const refusal = actorRefusal(request.principal, request.claimedActor);
  if (refusal === undefined) return;
  await auditRefused(request, refusal.reason, null, deps);
  throw new AccessRefused(refusal);
}

/** @throws MortiseError `ACTOR_UNKNOWN`, after its audit row. */
async function refuseActor(request: UploadRequest, content: Content, deps: UploadDeps): Promise<never> {
  const { actorUserId: actor } = request;
  await auditRefused(request, 'actor_unknown:reject', content, deps);
  throw new MortiseError('ACTOR_UNKNOWN', `The request was refused: the actor ${actor} is unknown.`, {
    status: 403,
    details: { category: 'business', actor_user_id: actor },
  });
}

interface PolicyObjection {
  readonly reason: string;
  readonly message: string;
}

/** @throws MortiseError `POLICY_REJECT`, after its audit row. */
async function refuseByPolicy(
  request: UploadRequest,
  { reason, message }: PolicyObjection,
  content: Content,
  deps: UploadDeps,
): Promise<never> {
  await auditRefused(request, reason, content, deps);
  throw new MortiseError('POLICY_REJECT', `The request was refused: ${message} (${reason}).`, {
    status: 403,
    details: { category: 'business', policy_reason: reason },
  });
}

type TitleVerdict =
  | { readonly kind: 'pass'; readonly request: UploadRequest; readonly warnings: readonly string[] }
  | ({ readonly kind: 'reject' } & PolicyObjection);

const SECRET_TITLE = '/title holds what looks like a secret';

/**
 * Applies the project's policy to a title that contains a secret. The content is not checked: evidence must be stored
 * unchanged.
 */
async function guardTitle(request: UploadRequest, { logbook, projectKey }: UploadDeps): Promise<TitleVerdict> {
  const { title } = request;
  const clean = title === null ? null : redactSecrets(title);
  if (clean === title) return { kind: 'pass', request, warnings: [] };
  const { policy } = await logbook.settings.get(projectKey);
  switch (contentGuardPolicy(policy).secret) {
    case 'off':
      return { kind: 'pass', request, warnings: [] };
    case 'warn':
      return { kind: 'pass', request, warnings: [SECRET_TITLE] };
    case 'redact':
      return { kind: 'pass', request: { ...request, title: clean }, warnings: ['a secret was removed from /title'] };
    case 'reject':
      return { kind: 'reject', reason: 'content_intercepted:secret', message: SECRET_TITLE };
  }
}

/** Runs the `memory-policy` checks of other plugins. @returns the first objection. */
async function askPlugins(
  request: UploadRequest,
  content: Content,
  ctx: CallContext,
  { points, projectKey, log }: UploadDeps,
): Promise<Exclude<MemoryPolicyVerdict, { readonly kind: 'pass' }> | undefined> {
  const checks = memoryPolicyChecks(points, 'evidence_upload');
  if (checks.length === 0) return undefined;
  const space = evidenceSpace(request, projectKey);
  const question = {
    tool: 'evidence_upload',
    actorUserId: request.actorUserId,
    requestedSpace: space,
    targetSpace: space,
    kind: null,
    content: Buffer.from(content.data).toString('utf8'),
    meta: { content_type: content.contentType, ...(request.title === null ? {} : { title: request.title }) },
    evidence: [],
  } as const;
  for (const check of checks) {
    const verdict = await runMemoryPolicy(points, check, question, ctx, log);
    if (verdict.kind !== 'pass') return verdict;
  }
  return undefined;
}

/** Writes the file. The same bytes of a project always have the same key. Null when the store failed. */
async function writeFile(
  { projectKey, correlationId }: UploadRequest,
  { data, contentType, sha256 }: Content,
  signal: AbortSignal,
  { artifacts, config, log }: UploadDeps,
): Promise<Artifact | null> {
  const folders = projectKey === null ? [] : [projectKey];
  const name = `${sha256}${extensionOf(contentType)}`;
  const key = [config.evidence_artifacts_prefix, ...folders, sha256.slice(0, 2), name].join('/');
  try {
    return await artifacts.put(key, data, { signal, replace: true });
  } catch (error) {
    signal.throwIfAborted();
    const cause = isCodedError(error) ? { code: error.code, ...error.details } : { err: error };
    log.error({ ...cause, correlationId }, 'A piece of evidence could not be written.');
    return null;
  }
}

/** Refuses an upload whose file could not be written. A full disk may also prevent the audit row; the error is returned anyway. */
async function refuseUnwritten(request: UploadRequest, content: Content, deps: UploadDeps): Promise<UploadFailure> {
  const refusal: Refusal = { code: 'EVIDENCE_WRITE_ERROR', facts: {} };
  try {
    return await refuse(request, refusal, content, deps);
  } catch (error) {
    if (deps.database.codec.errorKind(error) !== 'full') throw error;
    deps.log.error({ err: error, correlationId: request.correlationId }, 'A refused upload could not be audited.');
    return uploadFailure(refusal.code, refusal.facts, request.correlationId);
  }
}

/**
 * Writes the rows. If that fails the file stays: another upload of the same bytes may be about to refer to it, and the
 * next one will.
 */
async function record(
  request: UploadRequest,
  written: WrittenEvidence,
  deps: UploadDeps,
): Promise<RecordedEvidence | null> {
  try {
    return await recordEvidence(request, written, deps);
  } catch (error) {
    if (deps.database.codec.errorKind(error) === 'unavailable') throw error;
    await auditRefused(request, 'internal_error', written.content, deps);
    throw error;
  }
}

async function upload(args: Readonly<Record<string, unknown>>, ctx: Context, deps: UploadDeps): Promise<UploadResult> {
  const asked = readUploadRequest(args, ctx);
  await checkPrincipal(asked, deps);
  const missing = missingArgument(asked, deps.config.evidence_allowed_types);
  if (missing !== undefined) return refuse(asked, missing, null, deps);
  checkUploadRequest(asked);
  const content = readContent(asked, deps.config);
  if ('code' in content) return refuse(asked, content, null, deps);
  const owner = await findOwner(asked, deps);
  if (owner === undefined) return refuseActor(asked, content, deps);
  const noItem: Refusal = { code: 'EVIDENCE_ITEM_NOT_FOUND', facts: { item_id: asked.itemId } };
  if (asked.itemId !== null && (await deps.logbook.items.get(asked.itemId)) === null) {
    return refuse(asked, noItem, content, deps);
  }
  const guarded = await guardTitle(asked, deps);
  if (guarded.kind === 'reject') return refuseByPolicy(asked, guarded, content, deps);
  const { request, warnings } = guarded;
  const objection = await askPlugins(request, content, ctx, deps);
  if (objection !== undefined) return refuseByPolicy(request, objection, content, deps);
  const artifact = await writeFile(request, content, ctx.signal, deps);
  if (artifact === null) return refuseUnwritten(request, content, deps);
  ctx.signal.throwIfAborted();
  ctx.commit?.();
  const recorded = await record(request, { content, artifact, owner }, deps);
  if (recorded === null) return refuse(request, noItem, content, deps);
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

/**
 * Stores a piece of evidence. Everything is checked before anything is written, the file is written before the rows that
 * refer to it, and the rows are one transaction with their audit row. Refusals are audited and returned. Unknown
 * arguments are ignored with a warning.
 *
 * @throws MortiseError `INVALID_PARAM_VALUE`, `ACTOR_MISMATCH`, `ACTOR_UNKNOWN`, `POLICY_REJECT`, or the error of the
 * database.
 */
export async function uploadEvidence(
  args: Readonly<Record<string, unknown>>,
  ctx: Context,
  deps: UploadDeps,
): Promise<UploadResult> {
  const result = await upload(args, ctx, deps);
  const unknown = unknownArguments(args);
  return unknown.length === 0 ? result : { ...result, warnings: [...(result.warnings ?? []), ...unknown] };
}
