import { parseEvidenceUri } from 'mortise/contracts/evidence-store';
import { describeValue, isBlankText, redactSecrets } from 'mortise/sdk';
import type { Config } from '../config.generated.js';

type Json = Readonly<Record<string, unknown>>;

/** One piece of evidence: an object as given, or a plain reference. */
export interface EvidenceItem {
  /** What is stored: the object as given, or `{uri, sha256: ''}` for a plain reference. */
  readonly stored: Json;
  /** Null when the object has none. */
  readonly uri: string | null;
  /** A plain reference, which has no hash. */
  readonly isLegacy: boolean;
}

type EvidenceSource = 'v2' | 'v1_mapped' | 'mixed' | 'none';

export interface Evidence {
  readonly items: readonly EvidenceItem[];
  readonly source: EvidenceSource;
  /** URIs in the order given; null when there are none. */
  readonly refs: readonly string[] | null;
}

const SHA256 = /^[0-9a-f]{64}$/i;
const ATTACHMENT = 'memory://attachments/';

function uriOf(item: Json): string | null {
  return typeof item.uri === 'string' && !isBlankText(item.uri) ? item.uri : null;
}

function sourceOf(objects: number, references: number): EvidenceSource {
  if (objects > 0) return references > 0 ? 'mixed' : 'v2';
  return references > 0 ? 'v1_mapped' : 'none';
}

/** One list: the objects in order, then each plain reference that is not blank and not among them. */
export function normaliseEvidence(objects: readonly Json[], references: readonly string[]): Evidence {
  const items: EvidenceItem[] = objects.map((stored) => ({ stored, uri: uriOf(stored), isLegacy: false }));
  const known = new Set(items.map(({ uri }) => uri));
  for (const uri of references) {
    if (isBlankText(uri) || known.has(uri)) continue;
    known.add(uri);
    items.push({ stored: { uri, sha256: '' }, uri, isLegacy: true });
  }
  const refs = items.flatMap(({ uri }) => (uri === null ? [] : [uri]));
  return {
    items,
    source: sourceOf(objects.length, items.length - objects.length),
    refs: refs.length === 0 ? null : refs,
  };
}

export interface ValidationMode {
  readonly mode: 'strict' | 'compat';
  /** Whether evidence is validated. */
  readonly isOn: boolean;
  readonly reason: 'strict_enforced' | 'strict_env_override' | 'compat_default';
}

/** Whether evidence is validated, and why. Every mode but `strict` (in any case) is `compat`. */
export function validationMode(
  evidenceMode: string,
  config: Pick<Config, 'strict_mode_enforce_validate_refs' | 'validate_evidence_refs'>,
): ValidationMode {
  if (evidenceMode.toLowerCase() !== 'strict') {
    return { mode: 'compat', isOn: config.validate_evidence_refs, reason: 'compat_default' };
  }
  return config.strict_mode_enforce_validate_refs
    ? { mode: 'strict', isOn: true, reason: 'strict_enforced' }
    : { mode: 'strict', isOn: config.validate_evidence_refs, reason: 'strict_env_override' };
}

/** Findings in order of the items, each as `CODE:evidence[i]…`. */
interface EvidenceFindings {
  readonly errors: readonly string[];
  readonly warnings: readonly string[];
}

/** Ids of the attachments that the items refer to. */
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
  if (hasHash(item)) return [];
  return [`EVIDENCE_INVALID_SHA256:${place}:${describeValue(sha256).slice(0, 16)}...`];
}

function attachmentErrors(
  item: EvidenceItem,
  uri: string,
  place: string,
  hashes: ReadonlyMap<string, string>,
): string[] {
  if (!uri.startsWith(ATTACHMENT)) return [];
  const parsed = parseEvidenceUri(uri);
  const stored = parsed.ok ? hashes.get(parsed.id)?.toLowerCase() : undefined;
  if (!parsed.ok || stored === undefined) return [`EVIDENCE_NOT_FOUND:${place}`];
  const { sha256 } = item.stored;
  const isOther = typeof sha256 === 'string' && SHA256.test(sha256) && sha256.toLowerCase() !== stored;
  return stored !== parsed.sha256 || isOther ? [`EVIDENCE_SHA256_MISMATCH:${place}`] : [];
}

/**
 * Validates each item.
 * @param hashes hash by id of the existing attachments among {@link attachmentIds}
 */
export function validateEvidence(
  items: readonly EvidenceItem[],
  hashes: ReadonlyMap<string, string>,
): EvidenceFindings {
  const errors: string[] = [];
  const warnings: string[] = [];
  for (const [index, item] of items.entries()) {
    const place = `evidence[${index}]`;
    if (item.uri === null) {
      errors.push(`EVIDENCE_MISSING_URI:${place}`);
      continue;
    }
    errors.push(...hashErrors(item, item.uri, place), ...attachmentErrors(item, item.uri, place, hashes));
    if (item.isLegacy) warnings.push(`EVIDENCE_LEGACY_NO_SHA256:${place}:${item.uri}`);
  }
  return { errors, warnings };
}

/** A piece of evidence in the audit row. Secrets are always redacted. */
type Reference = Json;

interface SortedEvidence {
  readonly patches: readonly Reference[];
  readonly attachments: readonly Reference[];
  readonly external: readonly Reference[];
}

/** Whether an item has a well-formed hash. */
export function hasHash({ stored: { sha256 } }: EvidenceItem): boolean {
  return typeof sha256 === 'string' && SHA256.test(sha256);
}

function referenceOf({ stored, uri }: EvidenceItem): Reference {
  const { sha256, source, source_type, source_id, type } = stored;
  const members = { uri, sha256, source, source_type, source_id, type };
  return Object.fromEntries(
    Object.entries(members).flatMap(([name, value]) =>
      typeof value === 'string' ? [[name, redactSecrets(value)]] : [],
    ),
  );
}

/** Groups references by where the evidence is stored: stored patches, stored attachments, or elsewhere. */
export function sortEvidence(items: readonly EvidenceItem[]): SortedEvidence {
  const sorted = { patches: [] as Reference[], attachments: [] as Reference[], external: [] as Reference[] };
  for (const item of items) {
    const parsed = parseEvidenceUri(item.uri ?? '');
    if (!parsed.ok) sorted.external.push(referenceOf(item));
    else if (parsed.kind === 'attachments') sorted.attachments.push(referenceOf(item));
    else sorted.patches.push(referenceOf(item));
  }
  return sorted;
}
