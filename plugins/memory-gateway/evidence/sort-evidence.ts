import { parseEvidenceUri } from 'mortise/contracts/evidence-store';
import { redactSecrets } from 'mortise/sdk';
import type { EvidenceItem } from './normalise-evidence.js';

/** What the audit trail keeps of a piece of evidence: no secret, whatever the memory may keep. */
type Reference = Readonly<Record<string, unknown>>;

export interface SortedEvidence {
  readonly patches: readonly Reference[];
  readonly attachments: readonly Reference[];
  readonly external: readonly Reference[];
}

const SHA256 = /^[0-9a-f]{64}$/i;

/** Whether an item carries a hash that could be checked. */
export function isStrong(item: EvidenceItem): boolean {
  return typeof item.stored.sha256 === 'string' && SHA256.test(item.stored.sha256);
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

/** Evidence by where it is kept: patches and attachments of ours, and the rest. */
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
