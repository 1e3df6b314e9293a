import type { AuditEntry } from 'mortise/sdk';
import type { Content } from './read-content.js';
import type { UploadRequest } from './upload-request.js';

/** What became of an upload. */
export interface UploadOutcome {
  readonly action: 'allow' | 'reject';
  readonly reason: string;
  readonly content: Content | null;
  /** The reference that was made, as it is handed out. */
  readonly evidence?: Readonly<Record<string, unknown>>;
  /** Ids and figures. */
  readonly extra?: Readonly<Record<string, unknown>>;
}

/** What the audit trail calls the place of a project's evidence. */
export function spaceOf({ projectKey }: UploadRequest, project: string): string {
  return `evidence:${projectKey ?? project}`;
}

/** The audit row of an upload. It never holds the content or the title. */
export function auditUpload(request: UploadRequest, project: string, outcome: UploadOutcome): AuditEntry {
  const { action, reason, content, evidence, extra } = outcome;
  const sha256 = content?.sha256 ?? null;
  return {
    action,
    operation: 'evidence_upload',
    reason,
    actorUserId: request.actorUserId,
    principal: request.principal.id,
    targetSpace: spaceOf(request, project),
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

/** The further audit row of an upload that made its unknown actor a user. */
export function auditNewOwner({ principal, correlationId }: UploadRequest, userId: string): AuditEntry {
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
