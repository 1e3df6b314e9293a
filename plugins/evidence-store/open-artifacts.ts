import { resolve } from 'node:path';
import type { ArtifactStore, StartHost } from 'mortise/sdk';
import { createArtifacts } from './artifacts/create-artifacts.js';
import { createLocalStore } from './artifacts/local/local-store.js';
import { createObjectStore } from './artifacts/object/object-store.js';
import type { Config } from './config.generated.js';

/** The store that is configured. Neither folder nor connection is opened before it is used. */
export function openArtifacts(host: StartHost<Config>): ArtifactStore {
  const { artifacts_backend, artifacts_root, artifacts_read_only, artifacts_max_size_bytes, object_store } =
    host.config;
  const root = resolve(host.use('settings').dataDir, artifacts_root ?? 'artifacts');
  const bytes =
    artifacts_backend === 'local'
      ? createLocalStore(root, host.use('files'))
      : createObjectStore(object_store, host.use('fetch'));
  return createArtifacts(bytes, { readOnly: artifacts_read_only, maxBytes: artifacts_max_size_bytes });
}
