import type { Principal } from 'mortise/sdk';
import { type Evidence, type EvidenceItem, normaliseEvidence } from '../evidence/normalise-evidence.js';
import { codePoints, sha256 } from './hashes.js';
import { readStoreArguments, type StoreArguments } from './store-arguments.js';

/** One request to store a memory, read and normalised. */
export interface StoreRequest extends Omit<StoreArguments, 'evidence' | 'evidenceRefs' | 'actorUserId'> {
  readonly evidence: Evidence;
  /** Code points of the payload. */
  readonly payloadLength: number;
  readonly payloadSha: string;
  readonly requestedSpace: string;
  /** The actor that the caller names. */
  readonly claimedActor: string | null;
  /** The claimed actor, else the one the principal is bound to. */
  readonly actorUserId: string | null;
  readonly principal: Principal;
  readonly correlationId: string;
}

/** @throws MortiseError `INVALID_PARAM_VALUE` (422) for what a schema cannot refuse. */
export function readStoreRequest(
  args: Readonly<Record<string, unknown>>,
  caller: { readonly principal: Principal; readonly correlationId: string },
  defaultSpace: string,
): StoreRequest {
  const { evidence, evidenceRefs, actorUserId, ...read } = readStoreArguments(args);
  return {
    ...read,
    evidence: normaliseEvidence(evidence, evidenceRefs),
    payloadLength: codePoints(read.payload),
    payloadSha: sha256(read.payload),
    requestedSpace: read.targetSpace ?? defaultSpace,
    claimedActor: actorUserId,
    actorUserId: actorUserId ?? caller.principal.actor ?? null,
    principal: caller.principal,
    correlationId: caller.correlationId,
  };
}

/** The same request with other texts. `evidence`: one for each of its items. */
export function withTexts(
  request: StoreRequest,
  { payload, meta, evidence }: Pick<StoreRequest, 'payload' | 'meta'> & { evidence: readonly EvidenceItem['stored'][] },
): StoreRequest {
  const isLegacy = (index: number) => request.evidence.items[index]?.isLegacy === true;
  const objects = evidence.filter((_, index) => !isLegacy(index));
  const references = evidence.filter((_, index) => isLegacy(index)).map(({ uri }) => String(uri));
  return {
    ...request,
    payload,
    meta,
    evidence: normaliseEvidence(objects, references),
    payloadLength: codePoints(payload),
    payloadSha: sha256(payload),
  };
}
