import { contentGuardPolicy } from 'mortise/contracts/memory-gateway';
import { redactSecrets } from 'mortise/sdk';
import type { EvidenceParts } from '../parts.js';
import type { UploadRequest } from './upload-request.js';

export type TitleVerdict =
  | { readonly kind: 'pass'; readonly request: UploadRequest; readonly warnings: readonly string[] }
  | { readonly kind: 'reject'; readonly reason: string; readonly message: string };

const FOUND = '/title holds what looks like a secret';

/**
 * What the project's policy says of a title that holds a secret: the request as it may be kept. The content is not looked
 * at: it proves what it proves only as it is.
 */
export async function guardTitle(
  request: UploadRequest,
  { logbook, projectKey }: Pick<EvidenceParts, 'logbook' | 'projectKey'>,
): Promise<TitleVerdict> {
  const { title } = request;
  const clean = title === null ? null : redactSecrets(title);
  if (clean === title) return { kind: 'pass', request, warnings: [] };
  const { policy } = await logbook.settings.get(projectKey);
  switch (contentGuardPolicy(policy).secret) {
    case 'off':
      return { kind: 'pass', request, warnings: [] };
    case 'warn':
      return { kind: 'pass', request, warnings: [FOUND] };
    case 'redact':
      return { kind: 'pass', request: { ...request, title: clean }, warnings: ['a secret was taken out of /title'] };
    case 'reject':
      return { kind: 'reject', reason: 'content_intercepted:secret', message: FOUND };
  }
}
