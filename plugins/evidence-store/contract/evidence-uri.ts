export type EvidenceUriProblem =
  | 'E_NOT_MEMORY'
  | 'E_NOT_ATTACHMENTS'
  | 'E_LEGACY_FORMAT'
  | 'E_INVALID_ID'
  | 'E_INVALID_SHA256'
  | 'E_MALFORMED';

export type ParsedEvidenceUri =
  | { readonly ok: true; readonly kind: 'attachments'; readonly id: string; readonly sha256: string }
  | {
      readonly ok: true;
      readonly kind: 'patch_blobs';
      /** `<source type>/<source id>` */
      readonly id: string;
      readonly sha256: string;
    }
  | { readonly ok: false; readonly code: EvidenceUriProblem };

const SCHEME = 'memory://';
const SHA256 = /^[0-9a-f]{64}$/i;

/**
 * The URI of stored evidence: `memory://attachments/<id>/<sha256>` or
 * `memory://patch_blobs/<source type>/<source id>/<sha256>`, the hash in lower case.
 *
 * @throws TypeError for a hash that is not 64 hex digits, or an invalid id.
 */
export function buildEvidenceUri(kind: 'attachments' | 'patch_blobs', id: string | number, sha256: string): string {
  const uri = `${SCHEME}${kind}/${id}/${sha256.toLowerCase()}`;
  const parsed = parseEvidenceUri(uri);
  if (!parsed.ok) throw new TypeError(`Invalid evidence URI: ${parsed.code}`);
  return uri;
}

/** Parses the URI of stored evidence. */
export function parseEvidenceUri(uri: string): ParsedEvidenceUri {
  if (!uri.startsWith(SCHEME)) return { ok: false, code: 'E_NOT_MEMORY' };
  const [kind, ...parts] = uri.slice(SCHEME.length).split('/');
  if (kind === 'attachments') return parseAttachment(parts);
  if (kind === 'patch_blobs') return parsePatchBlob(parts);
  return { ok: false, code: 'E_NOT_ATTACHMENTS' };
}

function parseAttachment(parts: readonly string[]): ParsedEvidenceUri {
  const [id, sha256, ...rest] = parts;
  if (id === undefined || sha256 === undefined) return { ok: false, code: 'E_MALFORMED' };
  // The legacy form had a name space before the id.
  if (rest.length > 0) return { ok: false, code: rest.length === 1 ? 'E_LEGACY_FORMAT' : 'E_MALFORMED' };
  if (!/^\d+$/.test(id)) return { ok: false, code: 'E_INVALID_ID' };
  if (!SHA256.test(sha256)) return { ok: false, code: 'E_INVALID_SHA256' };
  return { ok: true, kind: 'attachments', id, sha256: sha256.toLowerCase() };
}

function parsePatchBlob(parts: readonly string[]): ParsedEvidenceUri {
  if (parts.length < 3) return { ok: false, code: 'E_MALFORMED' };
  const id = parts.slice(0, -1);
  const sha256 = parts.at(-1) ?? '';
  if (id.some((part) => part === '')) return { ok: false, code: 'E_INVALID_ID' };
  if (!SHA256.test(sha256)) return { ok: false, code: 'E_INVALID_SHA256' };
  return { ok: true, kind: 'patch_blobs', id: id.join('/'), sha256: sha256.toLowerCase() };
}
