import { buildEvidenceUri, parseEvidenceUri } from 'mortise/contracts/evidence-store';
import type { PatchBlob, PatchBlobs } from 'mortise/contracts/logbook';
import { numberOf, textArgument } from '../content.js';
import type { Args } from '../parts.js';
import { toolError } from '../tool-error.js';

/** A patch by its evidence URI, as stored or as its source makes it. @throws MortiseError `INVALID_URI`. */
export async function findPatchByUri(uri: string, patches: PatchBlobs): Promise<PatchBlob | null> {
  const parsed = parseEvidenceUri(uri);
  if (!parsed.ok || parsed.kind !== 'patch_blobs') throw toolError('INVALID_URI');
  const stored = await patches.find({ evidenceUri: uri });
  if (stored !== null) return stored;
  const [sourceType = '', ...sourceId] = parsed.id.split('/');
  return patches.find({ sourceType, sourceId: sourceId.join('/'), sha256: parsed.sha256 });
}

/**
 * The patch that arguments name: by URI, by id, by hash, or by source and hash.
 * @throws MortiseError `MISSING_REQUIRED_PARAMETER`, `INVALID_URI`, `NOT_FOUND`.
 */
export async function findPatch(args: Args, patches: PatchBlobs): Promise<PatchBlob> {
  const evidenceUri = textArgument(args.evidence_uri);
  const blobId = numberOf(args.blob_id);
  const sha256 = textArgument(args.sha256);
  if (evidenceUri === undefined && blobId === undefined && sha256 === undefined) {
    throw toolError('MISSING_REQUIRED_PARAMETER', { parameter: 'evidence_uri, blob_id, sha256' });
  }
  const byUri = evidenceUri === undefined ? undefined : await findPatchByUri(evidenceUri, patches);
  const name = { sourceType: textArgument(args.source_type), sourceId: textArgument(args.source_id), sha256 };
  const found = byUri === undefined ? await patches.find({ ...name, blobId }) : byUri;
  if (found === null) throw toolError('NOT_FOUND', { what: 'patch' });
  return found;
}

/** The URI that evidence lists carry; null for a patch whose source or hash is not known. */
export function patchUri({ evidenceUri, sourceType, sourceId, sha256 }: PatchBlob): string | null {
  if (evidenceUri !== null) return evidenceUri;
  if (!sourceType || !sourceId || sha256 === null || !/^[0-9a-f]{64}$/i.test(sha256)) return null;
  return buildEvidenceUri('patch_blobs', `${sourceType}/${sourceId}`, sha256);
}
