import {
  type Artifact,
  type ArtifactStore,
  type ParsedEvidenceUri,
  parseEvidenceUri,
} from 'mortise/contracts/evidence-store';
import { bytesOf, contentMembers, numberOf, sha256 } from './content.js';
import { findPatchByUri } from './patches.js';
import type { Args, ToolCode, ToolDeps } from './run-tool.js';
import { toolError } from './tool-error.js';

const scheme = /^[a-z][a-z0-9+.-]*:/i;

/** The key that the arguments name by URI or path. @throws MortiseError `MISSING_REQUIRED_PARAMETER`, `INVALID_URI`. */
function artifactKey({ uri, path }: Args, artifacts: ArtifactStore): string {
  // Models often write a path where the URI belongs.
  if (typeof uri === 'string') return scheme.test(uri) ? artifacts.keyOf(uri) : uri;
  if (typeof path === 'string') return path;
  throw toolError('MISSING_REQUIRED_PARAMETER', { parameter: 'uri, path' });
}

/** `artifacts_put` */
export const putArtifact: ToolCode = {
  kind: 'changes',
  target: ({ uri, path }) => `artifact:${String(uri ?? path ?? '').slice(0, 200)}`,
  async prepare(args, { signal }, { artifacts }) {
    const key = artifactKey(args, artifacts);
    const data = bytesOf('artifacts_put', args);
    const expected = args.expected_sha256;
    if (typeof expected === 'string' && expected.toLowerCase() !== sha256(data)) throw toolError('CHECKSUM_MISMATCH');
    return artifacts.put(key, data, { signal });
  },
  async record(_args, prepared) {
    const { uri, sha256: hash, sizeBytes } = prepared as Artifact;
    return { uri, sha256: hash, size_bytes: sizeBytes };
  },
};

/** `artifacts_get` */
export const getArtifact: ToolCode = {
  kind: 'reads',
  async run(args, { signal }, { artifacts }) {
    const key = artifactKey(args, artifacts);
    const {
      uri,
      sha256: hash,
      sizeBytes,
      data,
    } = await artifacts.get(key, { signal, maxBytes: numberOf(args.max_bytes) });
    const content = args.include_content === false ? {} : contentMembers(data, args.encoding);
    return { uri, sha256: hash, size_bytes: sizeBytes, ...content };
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

/** The row of a piece of evidence. */
interface EvidenceRow {
  readonly uri: string | null;
  readonly sha256: string | null;
  readonly sizeBytes: number | null;
}

function evidenceRow(
  parsed: Extract<ParsedEvidenceUri, { ok: true }>,
  uri: string,
  { logbook }: ToolDeps,
): Promise<EvidenceRow | null> {
  if (parsed.kind === 'attachments') return logbook.attachments.get(Number(parsed.id));
  return findPatchByUri(uri, logbook.patches);
}

/** `evidence_read` */
export const readEvidence: ToolCode = {
  kind: 'reads',
  async run({ uri, encoding, max_bytes, include_content, verify_sha256 }, { signal }, deps) {
    const parsed = parseEvidenceUri(String(uri));
    if (!parsed.ok) throw toolError('INVALID_URI');
    const row = await evidenceRow(parsed, String(uri), deps);
    if (row === null || row.uri === null) throw toolError('NOT_FOUND', { what: 'evidence' });
    if (row.sha256?.toLowerCase() !== parsed.sha256) throw toolError('CHECKSUM_MISMATCH');
    const known = {
      resource_type: parsed.kind,
      resource_id: parsed.id,
      sha256: parsed.sha256,
      size_bytes: row.sizeBytes,
      artifact_uri: row.uri,
      uri,
    };
    if (include_content === false && verify_sha256 === false) return known;
    const key = deps.artifacts.keyOf(row.uri);
    const { data } = await deps.artifacts.get(key, { signal, maxBytes: numberOf(max_bytes) });
    if (verify_sha256 !== false && sha256(data) !== parsed.sha256) throw toolError('CHECKSUM_MISMATCH');
    const content = include_content === false ? {} : contentMembers(data, encoding);
    return { ...known, size_bytes: data.byteLength, ...content };
  },
};
