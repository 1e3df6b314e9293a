import { hash } from 'node:crypto';
import type { Artifact, ArtifactStore } from 'mortise/contracts/evidence-store';
import { artifactError } from './artifact-error.js';
import type { ByteStore } from './byte-store.js';
import { checkKey } from './check-key.js';

export interface ArtifactLimits {
  readonly readOnly: boolean;
  /** Bytes of the largest file. */
  readonly maxBytes: number;
}

/** The service `artifacts` over whichever store keeps the bytes. */
export function createArtifacts(bytes: ByteStore, { readOnly, maxBytes }: ArtifactLimits): ArtifactStore {
  const uriOf = (key: string): string => `${bytes.uriPrefix}${key.split('/').map(encodeURIComponent).join('/')}`;
  const artifactOf = (key: string, data: Uint8Array): Artifact => ({
    key,
    uri: uriOf(key),
    sha256: hash('sha256', data, 'hex'),
    sizeBytes: data.byteLength,
  });

  /** Whether the very bytes are there. Other sizes are other bytes, without reading them. */
  const holds = async (wanted: Artifact, signal: AbortSignal | undefined): Promise<'same' | 'other' | 'nothing'> => {
    const size = await bytes.size(wanted.key, signal);
    if (size === null) return 'nothing';
    if (size !== wanted.sizeBytes) return 'other';
    const data = await bytes.read(wanted.key, wanted.sizeBytes, signal);
    if (data === null) return 'nothing';
    return hash('sha256', data, 'hex') === wanted.sha256 ? 'same' : 'other';
  };

  return {
    backend: bytes.backend,
    async put(key, data, options = {}) {
      const artifact = artifactOf(checkKey(key), data);
      if (readOnly) throw artifactError('ARTIFACT_WRITE_DISABLED');
      if (data.byteLength > maxBytes) {
        throw artifactError('ARTIFACT_SIZE_LIMIT_EXCEEDED', { size_bytes: data.byteLength, max_bytes: maxBytes });
      }
      const there = await holds(artifact, options.signal);
      if (there === 'same') return { ...artifact, created: false };
      if (there === 'other' && options.replace !== true) throw artifactError('ARTIFACT_OVERWRITE_DENIED');
      await bytes.write(key, data, options.signal);
      return { ...artifact, created: true };
    },
    async get(key, options = {}) {
      const data = await bytes.read(checkKey(key), Math.min(options.maxBytes ?? maxBytes, maxBytes), options.signal);
      if (data === null) throw artifactError('ARTIFACT_NOT_FOUND');
      return { ...artifactOf(key, data), data };
    },
    async stat(key, options = {}) {
      const data = await bytes.read(checkKey(key), maxBytes, options.signal);
      return data === null ? null : artifactOf(key, data);
    },
    uriOf: (key) => uriOf(checkKey(key)),
    keyOf(uri) {
      if (!uri.startsWith(bytes.uriPrefix)) throw artifactError('INVALID_URI');
      try {
        return checkKey(uri.slice(bytes.uriPrefix.length).split('/').map(decodeURIComponent).join('/'));
      } catch (error) {
        throw error instanceof URIError ? artifactError('INVALID_URI') : error;
      }
    },
  };
}
