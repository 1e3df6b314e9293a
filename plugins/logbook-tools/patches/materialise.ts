import type { Artifact, ArtifactStore } from 'mortise/contracts/evidence-store';
import type { PatchBlob } from 'mortise/contracts/logbook';
import { isCodedError } from 'mortise/sdk';
import { sha256 } from '../content.js';
import type { ToolCode } from '../tool-code.js';
import { toolError } from '../tool-error.js';
import { findPatch, patchUri } from './find-patch.js';

const PREFIX = 'scm/patch_blobs';
const FORMAT = /^[a-z0-9]{1,16}$/;

interface PlacedPatch {
  readonly patch: PatchBlob;
  readonly artifact: Artifact;
  /** The file was there already. */
  readonly wasPresent: boolean;
}

/** The bytes that the row itself holds, where its writer put them there. */
function inlineContent({ meta }: PatchBlob): Uint8Array | null {
  if (typeof meta.content_base64 === 'string') return Buffer.from(meta.content_base64, 'base64');
  return typeof meta.content === 'string' ? Buffer.from(meta.content, 'utf8') : null;
}

async function presentFile(patch: PatchBlob, artifacts: ArtifactStore, signal: AbortSignal): Promise<Artifact | null> {
  if (patch.uri === null) return null;
  try {
    return await artifacts.stat(artifacts.keyOf(patch.uri), { signal });
  } catch (error) {
    // Kept in another store than the one that is configured now.
    if (isCodedError(error) && error.code === 'INVALID_URI') return null;
    throw error;
  }
}

function checkHash(patch: PatchBlob, actual: string): void {
  if (patch.sha256 !== null && patch.sha256.toLowerCase() !== actual) throw toolError('CHECKSUM_MISMATCH');
}

function keyOf({ format }: PatchBlob, hash: string): string {
  return `${PREFIX}/${hash.slice(0, 2)}/${hash}.${FORMAT.test(format) ? format : 'diff'}`;
}

/** `scm_materialize_patch_blob` */
export const materialisePatch: ToolCode = {
  kind: 'changes',
  target: ({ evidence_uri, blob_id, sha256: hash }) =>
    `patch:${String(evidence_uri ?? blob_id ?? hash ?? '').slice(0, 200)}`,
  async prepare(args, { signal }, { logbook, artifacts }): Promise<PlacedPatch> {
    const patch = await findPatch(args, logbook.patches);
    const present = await presentFile(patch, artifacts, signal);
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
    const { patch, artifact, wasPresent } = prepared as PlacedPatch;
    const { uri, sha256: hash, sizeBytes } = artifact;
    if (!wasPresent) {
      await logbook.patches.place(patch.blobId, { uri, evidenceUri: patchUri(patch), sizeBytes }, { trx });
    }
    return { status: wasPresent ? 'present' : 'materialized', uri, sha256: hash, size_bytes: sizeBytes };
  },
};
