import type { Artifact } from 'mortise/contracts/evidence-store';
import { bytesOf, sha256 } from '../content.js';
import type { ToolCode } from '../tool-code.js';
import { toolError } from '../tool-error.js';
import { artifactKey, artifactTarget } from './artifact-key.js';

/** `artifacts_put` */
export const putArtifact: ToolCode = {
  kind: 'changes',
  target: artifactTarget,
  async prepare(args, { signal }, { artifacts }) {
    const key = artifactKey(args, artifacts);
    const data = bytesOf('artifacts_put', args);
    const expected = args.expected_sha256;
    if (typeof expected === 'string' && expected.toLowerCase() !== sha256(data)) throw toolError('CHECKSUM_MISMATCH');
    return artifacts.put(key, data, { signal });
  },
  async record(_args, prepared) {
    const { uri, sha256, sizeBytes } = prepared as Artifact;
    return { uri, sha256, size_bytes: sizeBytes };
  },
};
