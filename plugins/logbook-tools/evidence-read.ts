import { type ParsedEvidenceUri, parseEvidenceUri } from 'mortise/contracts/evidence-store';
import { contentMembers, numberOf, sha256 } from './content.js';
import type { ToolParts } from './parts.js';
import { findPatchByUri } from './patches/find-patch.js';
import type { ToolCode } from './tool-code.js';
import { toolError } from './tool-error.js';

/** A row that says where evidence is kept. */
interface KeptEvidence {
  readonly uri: string | null;
  readonly sha256: string | null;
  readonly sizeBytes: number | null;
}

function keptEvidence(
  parsed: Extract<ParsedEvidenceUri, { ok: true }>,
  uri: string,
  { logbook }: ToolParts,
): Promise<KeptEvidence | null> {
  if (parsed.kind === 'attachments') return logbook.attachments.get(Number(parsed.id));
  return findPatchByUri(uri, logbook.patches);
}

/** `evidence_read` */
export const readEvidence: ToolCode = {
  kind: 'reads',
  async run({ uri, encoding, max_bytes, include_content, verify_sha256 }, { signal }, parts) {
    const parsed = parseEvidenceUri(String(uri));
    if (!parsed.ok) throw toolError('INVALID_URI');
    const kept = await keptEvidence(parsed, String(uri), parts);
    if (kept === null || kept.uri === null) throw toolError('NOT_FOUND', { what: 'evidence' });
    if (kept.sha256?.toLowerCase() !== parsed.sha256) throw toolError('CHECKSUM_MISMATCH');
    const known = {
      resource_type: parsed.kind,
      resource_id: parsed.id,
      sha256: parsed.sha256,
      size_bytes: kept.sizeBytes,
      artifact_uri: kept.uri,
      uri,
    };
    if (include_content === false && verify_sha256 === false) return known;
    const key = parts.artifacts.keyOf(kept.uri);
    const { data } = await parts.artifacts.get(key, { signal, maxBytes: numberOf(max_bytes) });
    if (verify_sha256 !== false && sha256(data) !== parsed.sha256) throw toolError('CHECKSUM_MISMATCH');
    const content = include_content === false ? {} : contentMembers(data, encoding);
    return { ...known, size_bytes: data.byteLength, ...content };
  },
};
