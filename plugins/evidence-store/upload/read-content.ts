import { hash } from 'node:crypto';
import { decodeBase64 } from 'mortise/sdk';
import type { Config } from '../config.generated.js';
import type { UploadErrorCode } from './upload-error.js';
import type { UploadRequest } from './upload-request.js';

/** Decoded content of an allowed type and size. */
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

interface MediaType {
  /** Lower case, such as `text/plain`. */
  readonly essence: string;
  /** It has the parameter `base64`, as in a data URI. */
  readonly isBase64: boolean;
}

const ESSENCE = /^[!#$%&'*+.^_`|~0-9a-z-]+\/[!#$%&'*+.^_`|~0-9a-z-]+$/;
const DATA_URI = /^data:([^,]*),/is;
const LONE_SURROGATE = /\p{Surrogate}/u;
const MAX_SHOWN = 128;

const extensions: Readonly<Record<string, string>> = {
  'text/plain': '.txt',
  'text/markdown': '.md',
  'text/x-diff': '.diff',
  'text/x-patch': '.patch',
  'application/json': '.json',
  'application/xml': '.xml',
  'text/xml': '.xml',
  'text/html': '.html',
  'text/csv': '.csv',
  'text/yaml': '.yaml',
  'application/x-yaml': '.yaml',
};

/** Parses a media type with its parameters; undefined when it is malformed. */
export function parseMediaType(text: string): MediaType | undefined {
  const [first = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase());
  return ESSENCE.test(first) ? { essence: first, isBase64: parameters.includes('base64') } : undefined;
}

/** The file extension for a media type. */
export function extensionOf(essence: string): string {
  return extensions[essence] ?? '.bin';
}

/**
 * Decodes base64 if the content is a data URI that is base64 or the caller states it; else encodes the text as UTF-8.
 * Undefined for invalid base64, and for text with lone surrogates.
 */
export function decodeContent(content: string, isBase64: boolean): Uint8Array | undefined {
  const [prefix, head = ''] = DATA_URI.exec(content) ?? [];
  if (prefix !== undefined && /(?:^|;)\s*base64\s*$/i.test(head)) return decodeBase64(content.slice(prefix.length));
  if (isBase64) return decodeBase64(content);
  return LONE_SURROGATE.test(content) ? undefined : Buffer.from(content, 'utf8');
}

/** The refusal for a missing argument, in the order of the arguments. */
export function missingArgument(
  { content, contentType }: UploadRequest,
  allowed: readonly string[],
): Refusal | undefined {
  const code = 'MISSING_REQUIRED_PARAMETER';
  if (content === null) return { code, facts: { parameter: 'content' } };
  return contentType === null ? { code, facts: { parameter: 'content_type', allowed_types: allowed } } : undefined;
}

/** Checks type, encoding and size, in this order. The first violation refuses. */
export function readContent(request: UploadRequest, config: Config): Content | Refusal {
  const type = parseMediaType(request.contentType ?? '');
  const allowed = config.evidence_allowed_types.map((one) => one.toLowerCase());
  if (type === undefined || !allowed.includes(type.essence)) {
    const shown = type?.essence ?? (request.contentType ?? '').slice(0, MAX_SHOWN);
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
