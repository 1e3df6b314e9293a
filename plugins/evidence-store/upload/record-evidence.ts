import { type Artifact, type ArtifactStore, buildEvidenceUri } from 'mortise/contracts/evidence-store';
import type { Attachment, AuditService, LogbookService } from 'mortise/contracts/logbook';
import type { AuditEntry, Database, Logger, Points, Transaction } from 'mortise/sdk';
import type { Config } from '../config.generated.js';
import type { Content } from './read-content.js';
import type { UploadRequest } from './upload-request.js';

/** What an upload works with. */
export interface UploadDeps {
  readonly config: Config;
  readonly projectKey: string;
  readonly database: Database;
  readonly logbook: LogbookService;
  readonly audit: AuditService;
  readonly artifacts: ArtifactStore;
  readonly points: Points;
  readonly log: Logger;
}

/** The rows of an upload. */
export interface RecordedEvidence {
  readonly attachment: Attachment;
  readonly deduplicated: boolean;
  /** An item for the evidence list of a memory. */
  readonly evidence: Readonly<Record<string, unknown>>;
}

/** A file that is written but has no rows yet. */
export interface WrittenEvidence {
  readonly content: Content;
  readonly artifact: Artifact;
  readonly owner: Owner;
}

/** The owner of evidence. */
interface Owner {
  /** Null when there is no actor, or the actor is not an active user. */
  readonly userId: string | null;
  /** The user is created with the evidence. */
  readonly isNew: boolean;
}

const KIND = 'evidence';
const DEFAULT_TITLE = 'evidence_upload';

/**
 * The owner of an upload. As configured, an actor who is not an active user owns nothing, becomes a user, or is refused:
 * undefined.
 */
export async function findOwner(
  { actorUserId: actor }: UploadRequest,
  { logbook, config }: UploadDeps,
): Promise<Owner | undefined> {
  if (actor === null) return { userId: null, isNew: false };
  if (await logbook.users.isActive(actor)) return { userId: actor, isNew: false };
  switch (config.unknown_actor_policy) {
    case 'reject':
      return undefined;
    case 'auto_create':
      return { userId: actor, isNew: true };
    case 'degrade':
      return { userId: null, isNew: false };
  }
}

/** The outcome of an upload, as its audit row records it. */
interface UploadOutcome {
  readonly action: 'allow' | 'reject';
  readonly reason: string;
  readonly content: Content | null;
  /** The reference that was created. */
  readonly evidence?: Readonly<Record<string, unknown>>;
  /** Ids and figures. */
  readonly extra?: Readonly<Record<string, unknown>>;
}

/** The space of a project's evidence in audit rows and policy checks. */
export function evidenceSpace({ projectKey }: UploadRequest, project: string): string {
  return `evidence:${projectKey ?? project}`;
}

/** The audit row of an upload. It never contains the content or the title. */
export function auditUpload(request: UploadRequest, project: string, outcome: UploadOutcome): AuditEntry {
  const { action, reason, content, evidence, extra } = outcome;
  const sha256 = content?.sha256 ?? null;
  return {
    action,
    operation: 'evidence_upload',
    reason,
    actorUserId: request.actorUserId,
    principal: request.principal.id,
    targetSpace: evidenceSpace(request, project),
    payloadSha: sha256,
    correlationId: request.correlationId,
    evidence: {
      source: 'gateway',
      correlation_id: request.correlationId,
      ...(sha256 === null ? {} : { payload_sha: sha256 }),
      ...(evidence === undefined ? {} : { attachments: [evidence] }),
      ...(extra === undefined ? {} : { extra }),
      gateway_event: { payload_len: content?.data.byteLength ?? null },
    },
  };
}

/** The additional audit row of an upload whose unknown actor became a user. */
function auditNewUser({ principal, correlationId }: UploadRequest, userId: string): AuditEntry {
  return {
    action: 'allow',
    operation: 'actor_autocreate',
    reason: 'actor_autocreated',
    actorUserId: userId,
    principal: principal.id,
    targetSpace: `private:${userId}`,
    correlationId,
    evidence: { source: 'gateway', correlation_id: correlationId },
  };
}

/** Returns the item of the request, or creates one. */
async function itemOf(
  request: UploadRequest,
  ownerUserId: string | null,
  { logbook, projectKey }: UploadDeps,
  trx: Transaction,
): Promise<number> {
  if (request.itemId !== null) return request.itemId;
  const item = await logbook.items.add(
    {
      itemType: KIND,
      title: request.title ?? DEFAULT_TITLE,
      projectKey: request.projectKey ?? projectKey,
      scope: { source: 'gateway', ...(request.projectKey === null ? {} : { project_key: request.projectKey }) },
      ownerUserId,
    },
    { trx },
  );
  return item.itemId;
}

/** Creates a new owner. A disabled user exists and stays disabled; the evidence then has no owner. */
async function createOwner(
  request: UploadRequest,
  { userId, isNew }: Owner,
  { logbook, audit }: UploadDeps,
  trx: Transaction,
): Promise<string | null> {
  if (userId === null || !isNew) return userId;
  if (!(await logbook.users.add(userId, {}, { trx }))) {
    return (await logbook.users.isActive(userId, { trx })) ? userId : null;
  }
  await audit.write(auditNewUser(request, userId), { trx });
  return userId;
}

function evidenceOf({ attachmentId, sha256, createdAt }: Attachment, title: string | null) {
  return {
    uri: buildEvidenceUri('attachments', attachmentId, sha256),
    sha256,
    source_type: 'artifact',
    source_id: String(attachmentId),
    timestamp: createdAt,
    ...(title === null ? {} : { title }),
  };
}

function metaOf({ title, actorUserId, projectKey, correlationId }: UploadRequest, contentType: string) {
  return {
    content_type: contentType,
    ...(title === null ? {} : { title }),
    ...(actorUserId === null ? {} : { actor_user_id: actorUserId }),
    ...(projectKey === null ? {} : { project_key: projectKey }),
    correlation_id: correlationId,
  };
}

/** Writes item, attachment and audit row in one transaction. Null when the item of the request does not exist. */
export function recordEvidence(
  request: UploadRequest,
  { content, artifact, owner }: WrittenEvidence,
  deps: UploadDeps,
): Promise<RecordedEvidence | null> {
  return deps.database.transaction(async (trx) => {
    const ownerUserId = await createOwner(request, owner, deps, trx);
    const attached = await deps.logbook.attachments.attach(
      {
        itemId: await itemOf(request, ownerUserId, deps, trx),
        kind: KIND,
        uri: artifact.uri,
        sha256: content.sha256,
        sizeBytes: content.data.byteLength,
        meta: metaOf(request, content.contentType),
      },
      { trx },
    );
    if (attached === null) return null;
    const { attachment, created } = attached;
    const evidence = evidenceOf(attachment, request.title);
    const { title: _, timestamp: __, ...reference } = evidence;
    const entry = auditUpload(request, deps.projectKey, {
      action: 'allow',
      reason: 'evidence_upload:stored',
      content,
      evidence: reference,
      extra: {
        item_id: attachment.itemId,
        attachment_id: attachment.attachmentId,
        size_bytes: content.data.byteLength,
        content_type: content.contentType,
        deduplicated: !created,
      },
    });
    await deps.audit.write(entry, { trx });
    return { attachment, deduplicated: !created, evidence };
  });
}
