import { parseEvidenceUri } from 'mortise/contracts/evidence-store';
import type { EvidenceItem } from './normalise-evidence.js';

export interface EvidenceFindings {
  /** `CODE:evidence[i]…`, in order of the items. */
  readonly errors: readonly string[];
  readonly warnings: readonly string[];
}

/** Hashes of the attachments that exist, by decimal id. */
export type AttachmentHashes = ReadonlyMap<string, string>;

const SHA256 = /^[0-9a-f]{64}$/i;
const ATTACHMENT = 'memory://attachments/';

/** Ids of the attachments that the items name. */
export function attachmentIds(items: readonly EvidenceItem[]): readonly string[] {
  return items.flatMap(({ uri }) => {
    const parsed = parseEvidenceUri(uri ?? '');
    return parsed.ok && parsed.kind === 'attachments' ? [parsed.id] : [];
  });
}

function hashErrors(item: EvidenceItem, uri: string, place: string): string[] {
  const { sha256 } = item.stored;
  if (item.isLegacy) return [];
  if (sha256 === undefined || sha256 === null || sha256 === '') return [`EVIDENCE_MISSING_SHA256:${place}:${uri}`];
  if (typeof sha256 === 'string' && SHA256.test(sha256)) return [];
  return [`EVIDENCE_INVALID_SHA256:${place}:${String(sha256).slice(0, 16)}...`];
}

function storeErrors(item: EvidenceItem, uri: string, place: string, hashes: AttachmentHashes): string[] {
  if (!uri.startsWith(ATTACHMENT)) return [];
  const parsed = parseEvidenceUri(uri);
  const stored = parsed.ok ? hashes.get(parsed.id)?.toLowerCase() : undefined;
  if (!parsed.ok || stored === undefined) return [`EVIDENCE_NOT_FOUND:${place}`];
  const { sha256 } = item.stored;
  const isOther = typeof sha256 === 'string' && SHA256.test(sha256) && sha256.toLowerCase() !== stored;
  return stored !== parsed.sha256 || isOther ? [`EVIDENCE_SHA256_MISMATCH:${place}`] : [];
}

/** What is wrong with each item. `hashes` are those of {@link attachmentIds}. */
export function validateEvidence(items: readonly EvidenceItem[], hashes: AttachmentHashes): EvidenceFindings {
  const errors: string[] = [];
  const warnings: string[] = [];
  for (const [index, item] of items.entries()) {
    const place = `evidence[${index}]`;
    if (item.uri === null) {
      errors.push(`EVIDENCE_MISSING_URI:${place}`);
      continue;
    }
    errors.push(...hashErrors(item, item.uri, place), ...storeErrors(item, item.uri, place, hashes));
    if (item.isLegacy) warnings.push(`EVIDENCE_LEGACY_NO_SHA256:${place}:${item.uri}`);
  }
  return { errors, warnings };
}

/** The code of a finding, without its place. */
export function findingCode(finding: string): string {
  return finding.slice(0, finding.indexOf(':'));
}
