import { type Artifact, buildEvidenceUri } from 'mortise/contracts/evidence-store';
import type { Attachment } from 'mortise/contracts/logbook';
import type { Transaction } from 'mortise/sdk';
import type { EvidenceParts } from '../parts.js';
import { auditNewOwner, auditUpload } from './audit-upload.js';
import type { Owner } from './check-owner.js';
import type { Content } from './read-content.js';
import type { UploadRequest } from './upload-request.js';

const KIND = 'evidence';
const DEFAULT_TITLE = 'evidence_upload';

/** Evidence that was kept, and the rows that say so. */
export interface RecordedEvidence {
  readonly attachment: Attachment;
  readonly deduplicated: boolean;
  /** Ready for the evidence list of a memory. */
  readonly evidence: Readonly<Record<string, unknown>>;
}

export interface KeptEvidence {
  readonly content: Content;
  readonly artifact: Artifact;
  readonly owner: Extract<Owner, { kind: 'owner' }>;
}

async function itemOf(
  request: UploadRequest,
  ownerUserId: string | null,
  { logbook, projectKey }: EvidenceParts,
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

/** An inactive user is there and stays inactive: the evidence is then nobody's. */
async function ownerOf(
  request: UploadRequest,
  owner: KeptEvidence['owner'],
  { logbook, audit }: EvidenceParts,
  trx: Transaction,
): Promise<string | null> {
  if (owner.userId === null || !owner.isNew) return owner.userId;
  if (!(await logbook.users.add(owner.userId, {}, { trx }))) {
    return (await logbook.users.isActive(owner.userId, { trx })) ? owner.userId : null;
  }
  await audit.write(auditNewOwner(request, owner.userId), { trx });
  return owner.userId;
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

/** Item, attachment and audit row, in one transaction. Null when the item that was named is not there. */
export function recordEvidence(
  request: UploadRequest,
  { content, artifact, owner }: KeptEvidence,
  parts: EvidenceParts,
): Promise<RecordedEvidence | null> {
  return parts.database.transaction(async (trx) => {
    const ownerUserId = await ownerOf(request, owner, parts, trx);
    const attached = await parts.logbook.attachments.attach(
      {
        itemId: await itemOf(request, ownerUserId, parts, trx),
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
    const entry = auditUpload(request, parts.projectKey, {
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
    await parts.audit.write(entry, { trx });
    return { attachment, deduplicated: !created, evidence };
  });
}
