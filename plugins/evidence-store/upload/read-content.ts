import { hash } from 'node:crypto';
import type { Config } from '../config.generated.js';
import { decodeContent } from './decode-content.js';
import { parseMediaType } from './media-type.js';
import type { UploadErrorCode } from './upload-error.js';
import type { UploadRequest } from './upload-request.js';

/** A piece of evidence that may be kept. */
export interface Content {
  readonly data: Uint8Array;
  /** Lower case, without parameters. */
  readonly contentType: string;
  /** 64 lower-case hex digits. */
  readonly sha256: string;
}

export interface Refusal {
  readonly code: UploadErrorCode;
  readonly facts: Readonly<Record<string, unknown>>;
}

const LONGEST_SHOWN = 128;

/** What is missing, in the order of the arguments. */
export function missingArgument(
  { content, contentType }: UploadRequest,
  allowed: readonly string[],
): Refusal | undefined {
  const code = 'MISSING_REQUIRED_PARAMETER';
  if (content === null) return { code, facts: { parameter: 'content' } };
  return contentType === null ? { code, facts: { parameter: 'content_type', allowed_types: allowed } } : undefined;
}

/** Type, then text, then size: the first that is wrong refuses. */
export function readContent(request: UploadRequest, config: Config): Content | Refusal {
  const type = parseMediaType(request.contentType ?? '');
  const allowed = config.evidence_allowed_types.map((one) => one.toLowerCase());
  if (type === undefined || !allowed.includes(type.essence)) {
    const shown = type?.essence ?? (request.contentType ?? '').slice(0, LONGEST_SHOWN);
    return { code: 'EVIDENCE_CONTENT_TYPE_NOT_ALLOWED', facts: { content_type: shown, allowed_types: allowed } };
  }
  const data = decodeContent(request.content ?? '', request.isBase64 || type.isBase64);
  if (data === undefined) return { code: 'EVIDENCE_CONTENT_INVALID', facts: {} };
  const limit = config.evidence_max_size_bytes;
  if (data.byteLength > limit) {
    return { code: 'EVIDENCE_SIZE_LIMIT_EXCEEDED', facts: { size_bytes: data.byteLength, max_bytes: limit } };
  }
  return { data, contentType: type.essence, sha256: hash('sha256', data, 'hex') };
}

/** Where evidence is kept: the same bytes of a project always in the same place. */
export function evidenceKey({ sha256 }: Content, prefix: string, projectKey: string | null, extension: string): string {
  return [prefix, ...(projectKey === null ? [] : [projectKey]), sha256.slice(0, 2), `${sha256}${extension}`].join('/');
}
