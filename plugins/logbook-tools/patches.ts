import {
  type Artifact,
  type ArtifactStore,
  buildEvidenceUri,
  parseEvidenceUri,
} from 'mortise/contracts/evidence-store';
import type { PatchBlob, PatchBlobs } from 'mortise/contracts/logbook';
import { isCodedError } from 'mortise/sdk';
import { numberOf, sha256, textOf } from './content.js';
import type { Args, ToolCode } from './run-tool.js';
import { toolError } from './tool-error.js';

/** Finds a patch by its evidence URI, stored or derived from its source. @throws MortiseError `INVALID_URI`. */
export async function findPatchByUri(uri: string, patches: PatchBlobs): Promise<PatchBlob | null> {
  const parsed = parseEvidenceUri(uri);
  if (!parsed.ok || parsed.kind !== 'patch_blobs') throw toolError('INVALID_URI');
  const stored = await patches.find({ evidenceUri: uri });
  if (stored !== null) return stored;
  const [sourceType = '', ...sourceId] = parsed.id.split('/');
  return patches.find({ sourceType, sourceId: sourceId.join('/'), sha256: parsed.sha256 });
}

/**
 * Finds the patch that the arguments name by URI, id, hash, or source and hash.
 * @throws MortiseError `MISSING_REQUIRED_PARAMETER`, `INVALID_URI`, `NOT_FOUND`.
 */
async function findPatch(args: Args, patches: PatchBlobs): Promise<PatchBlob> {
  const evidenceUri = textOf(args.evidence_uri);
  const blobId = numberOf(args.blob_id);
  const sha256 = textOf(args.sha256);
  if (evidenceUri === undefined && blobId === undefined && sha256 === undefined) {
    throw toolError('MISSING_REQUIRED_PARAMETER', { parameter: 'evidence_uri, blob_id, sha256' });
  }
  const byUri = evidenceUri === undefined ? undefined : await findPatchByUri(evidenceUri, patches);
  const name = { sourceType: textOf(args.source_type), sourceId: textOf(args.source_id), sha256 };
  const found = byUri === undefined ? await patches.find({ ...name, blobId }) : byUri;
  if (found === null) throw toolError('NOT_FOUND', { what: 'patch' });
  return found;
}

/** The evidence URI of a patch; null when its source or hash is unknown. */
function patchUri({ evidenceUri, sourceType, sourceId, sha256 }: PatchBlob): string | null {
  if (evidenceUri !== null) return evidenceUri;
  if (!sourceType || !sourceId || sha256 === null || !/^[0-9a-f]{64}$/i.test(sha256)) return null;
  return buildEvidenceUri('patch_blobs', `${sourceType}/${sourceId}`, sha256);
}

/** `scm_patch_blob_resolve` */
export const resolvePatch: ToolCode = {
  kind: 'reads',
  async run(args, _ctx, { logbook }) {
    const patch = await findPatch(args, logbook.patches);
    const { uri, sha256, sizeBytes } = patch;
    return { artifact_uri: uri, sha256, size_bytes: sizeBytes, evidence_uri: patchUri(patch) };
  },
};

const KEY_PREFIX = 'scm/patch_blobs';
const FORMAT = /^[a-z0-9]{1,16}$/;

/** A patch and its file. */
interface PatchFile {
  readonly patch: PatchBlob;
  readonly artifact: Artifact;
  /** The file existed already. */
  readonly wasPresent: boolean;
}

/** The content in the row's meta, if there is any. */
function inlineContent({ meta }: PatchBlob): Uint8Array | null {
  if (typeof meta.content_base64 === 'string') return Buffer.from(meta.content_base64, 'base64');
  return typeof meta.content === 'string' ? Buffer.from(meta.content, 'utf8') : null;
}

async function existingFile(patch: PatchBlob, artifacts: ArtifactStore, signal: AbortSignal): Promise<Artifact | null> {
  if (patch.uri === null) return null;
  try {
    return await artifacts.stat(artifacts.keyOf(patch.uri), { signal });
  } catch (error) {
    // The file is in another store than the configured one.
    if (isCodedError(error) && error.code === 'INVALID_URI') return null;
    throw error;
  }
}

function checkHash(patch: PatchBlob, actual: string): void {
  if (patch.sha256 !== null && patch.sha256.toLowerCase() !== actual) throw toolError('CHECKSUM_MISMATCH');
}

function keyOf({ format }: PatchBlob, hash: string): string {
  return `${KEY_PREFIX}/${hash.slice(0, 2)}/${hash}.${FORMAT.test(format) ? format : 'diff'}`;
}

/** `scm_materialize_patch_blob` */
export const materialisePatch: ToolCode = {
  kind: 'changes',
  target: ({ evidence_uri, blob_id, sha256: hash }) =>
    `patch:${String(evidence_uri ?? blob_id ?? hash ?? '').slice(0, 200)}`,
  async prepare(args, { signal }, { logbook, artifacts }): Promise<PatchFile> {
    const patch = await findPatch(args, logbook.patches);
    const present = await existingFile(patch, artifacts, signal);
    if (present !== null) {
      checkHash(patch, present.sha256);
      return { patch, artifact: present, wasPresent: true };
    }
    const content = inlineContent(patch);
    if (content === null) throw toolError('NOT_FOUND', { what: 'content of this patch' });
    const hash = sha256(content);
    checkHash(patch, hash);
    const artifact = await artifacts.put(keyOf(patch, hash), content, { signal, replace: true });
    return { patch, artifact, wasPresent: false };
  },
  async record(_args, prepared, { logbook }, trx) {
    const { patch, artifact, wasPresent } = prepared as PatchFile;
    const { uri, sha256: hash, sizeBytes } = artifact;
    if (!wasPresent) {
      await logbook.patches.place(patch.blobId, { uri, evidenceUri: patchUri(patch), sizeBytes }, { trx });
    }
    return { status: wasPresent ? 'present' : 'materialized', uri, sha256: hash, size_bytes: sizeBytes };
  },
};
