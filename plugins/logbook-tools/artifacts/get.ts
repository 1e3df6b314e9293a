import { contentMembers, numberOf } from '../content.js';
import type { ToolCode } from '../tool-code.js';
import { artifactKey } from './artifact-key.js';

/** `artifacts_get` */
export const getArtifact: ToolCode = {
  kind: 'reads',
  async run(args, { signal }, { artifacts }) {
    const key = artifactKey(args, artifacts);
    const { uri, sha256, sizeBytes, data } = await artifacts.get(key, { signal, maxBytes: numberOf(args.max_bytes) });
    const content = args.include_content === false ? {} : contentMembers(data, args.encoding);
    return { uri, sha256, size_bytes: sizeBytes, ...content };
  },
};

/** `artifacts_exists` */
export const findArtifact: ToolCode = {
  kind: 'reads',
  async run(args, { signal }, { artifacts }) {
    const key = artifactKey(args, artifacts);
    const found = await artifacts.stat(key, { signal });
    return {
      uri: artifacts.uriOf(key),
      exists: found !== null,
      sha256: found?.sha256 ?? null,
      size_bytes: found?.sizeBytes ?? null,
    };
  },
};
