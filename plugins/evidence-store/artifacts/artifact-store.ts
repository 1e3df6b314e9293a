import { hash } from 'node:crypto';
import { resolve } from 'node:path';
import type { Artifact, ArtifactStore } from 'mortise/contracts/evidence-store';
import type { StartHost } from 'mortise/sdk';
import type { Config } from '../config.generated.js';
import { artifactError } from './artifact-error.js';
import type { ByteStore } from './byte-store.js';
import { createLocalStore } from './local-store.js';
import { createObjectStore } from './object-store.js';

const MAX_KEY_BYTES = 900;
const MAX_NAME_BYTES = 200;
const CONTROL = /[\p{Cc}\p{Surrogate}\\]/u;

/**
 * Checks that a key is a relative path with forward slashes that stays below its root.
 * @throws MortiseError `PATH_TRAVERSAL_ERROR`.
 */
function checkKey(key: string): string {
  const hasInvalidName = key
    .split('/')
    .some((name) => name === '' || name === '.' || name === '..' || Buffer.byteLength(name) > MAX_NAME_BYTES);
  if (hasInvalidName || Buffer.byteLength(key) > MAX_KEY_BYTES || CONTROL.test(key))
    throw artifactError('PATH_TRAVERSAL_ERROR');
  return key;
}

/** Implements the service `artifacts` on a byte store. */
function createArtifacts(bytes: ByteStore, isReadOnly: boolean, maxBytes: number): ArtifactStore {
  const uriOf = (key: string): string => `${bytes.uriPrefix}${key.split('/').map(encodeURIComponent).join('/')}`;
  const artifactOf = (key: string, data: Uint8Array): Artifact => ({
    key,
    uri: uriOf(key),
    sha256: hash('sha256', data, 'hex'),
    sizeBytes: data.byteLength,
  });

  /** Compares the stored bytes. A different size is detected without reading them. */
  const compare = async (wanted: Artifact, signal: AbortSignal | undefined): Promise<'same' | 'other' | 'absent'> => {
    const size = await bytes.size(wanted.key, signal);
    if (size === null) return 'absent';
    if (size !== wanted.sizeBytes) return 'other';
    const data = await bytes.read(wanted.key, wanted.sizeBytes, signal);
    if (data === null) return 'absent';
    return hash('sha256', data, 'hex') === wanted.sha256 ? 'same' : 'other';
  };

  return {
    backend: bytes.backend,
    async put(key, data, options = {}) {
      const artifact = artifactOf(checkKey(key), data);
      if (isReadOnly) throw artifactError('ARTIFACT_WRITE_DISABLED');
      if (data.byteLength > maxBytes) {
        throw artifactError('ARTIFACT_SIZE_LIMIT_EXCEEDED', { size_bytes: data.byteLength, max_bytes: maxBytes });
      }
      const stored = await compare(artifact, options.signal);
      if (stored === 'same') return { ...artifact, created: false };
      if (stored === 'other' && options.replace !== true) throw artifactError('ARTIFACT_OVERWRITE_DENIED');
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

/** Creates the configured store. Neither folder nor connection is opened before it is used. */
export function openArtifacts(host: StartHost<Config>): ArtifactStore {
  const { artifacts_backend, artifacts_root, artifacts_read_only, artifacts_max_size_bytes, object_store } =
    host.config;
  const root = resolve(host.use('settings').dataDir, artifacts_root ?? 'artifacts');
  const bytes =
    artifacts_backend === 'local'
      ? createLocalStore(root, host.use('files'))
      : createObjectStore(object_store, host.use('fetch'));
  return createArtifacts(bytes, artifacts_read_only, artifacts_max_size_bytes);
}
