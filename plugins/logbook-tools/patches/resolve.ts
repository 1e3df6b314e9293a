import type { ToolCode } from '../tool-code.js';
import { findPatch, patchUri } from './find-patch.js';

/** `scm_patch_blob_resolve` */
export const resolvePatch: ToolCode = {
  kind: 'reads',
  async run(args, _ctx, { logbook }) {
    const patch = await findPatch(args, logbook.patches);
    const { uri, sha256, sizeBytes } = patch;
    return { artifact_uri: uri, sha256, size_bytes: sizeBytes, evidence_uri: patchUri(patch) };
  },
};
