import { askMemoryPolicy, type MemoryPolicyVerdict, memoryPolicyChecks } from 'mortise/contracts/memory-gateway';
import type { CallContext } from 'mortise/sdk';
import type { EvidenceParts } from '../parts.js';
import { spaceOf } from './audit-upload.js';
import type { Content } from './read-content.js';
import type { UploadRequest } from './upload-request.js';

/** The first check of a plugin that does not let the evidence pass; undefined when all do. */
export async function checkPolicies(
  request: UploadRequest,
  content: Content,
  ctx: CallContext,
  { points, projectKey, log }: EvidenceParts,
): Promise<Exclude<MemoryPolicyVerdict, { readonly kind: 'pass' }> | undefined> {
  const checks = memoryPolicyChecks(points, 'evidence_upload');
  if (checks.length === 0) return undefined;
  const space = spaceOf(request, projectKey);
  const asked = {
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
    const verdict = await askMemoryPolicy(points, check, asked, ctx, log);
    if (verdict.kind !== 'pass') return verdict;
  }
  return undefined;
}
