import type { StoredEvidence } from 'mortise/contracts/logbook';
import { attachmentIds, findingCode, validateEvidence } from '../evidence/validate-evidence.js';
import { type ValidationFlags, validationMode } from '../evidence/validation-mode.js';
import type { Objection, Validation } from './decision.js';
import type { StoreRequest } from './store-request.js';

export interface EvidenceVerdict {
  readonly validation: Validation;
  readonly warnings: readonly string[];
  readonly objection: (Objection & { readonly kind: 'reject' }) | null;
}

/** Checks the evidence where that is switched on. In strict mode an error rejects, in compat mode it is a warning. */
export async function checkEvidence(
  request: StoreRequest,
  stored: StoredEvidence,
  evidenceMode: string,
  flags: ValidationFlags,
): Promise<EvidenceVerdict> {
  const mode = validationMode(evidenceMode, flags);
  const { items } = request.evidence;
  if (!mode.isOn || items.length === 0) {
    return { validation: { ...mode, findings: [] }, warnings: [], objection: null };
  }
  const hashes = await stored.attachmentHashes(attachmentIds(items));
  const { errors, warnings } = validateEvidence(items, hashes);
  const validation = { ...mode, findings: [...errors, ...warnings] };
  const [first] = errors;
  if (mode.mode === 'compat' || first === undefined)
    return { validation, warnings: validation.findings, objection: null };
  const objection: EvidenceVerdict['objection'] = {
    kind: 'reject',
    reason: `EVIDENCE_VALIDATION_FAILED:${findingCode(first)}`,
    explanation: 'the evidence is not valid',
  };
  return { validation, warnings: validation.findings, objection };
}
