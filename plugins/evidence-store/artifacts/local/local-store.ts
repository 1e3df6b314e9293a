import { constants } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import type { FilesService } from 'mortise/sdk';
import { artifactError } from '../artifact-error.js';
import type { ByteStore } from '../byte-store.js';
import { isAbsent, wordedAs } from './fs-error.js';
import { walk } from './walk.js';

// Windows has no such flag; there the walk alone keeps links out.
const READ = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0);

async function readFile(path: string, maxBytes: number): Promise<Uint8Array> {
  const file = await open(path, READ);
  try {
    const { size } = await file.stat();
    if (size > maxBytes) throw artifactError('PAYLOAD_TOO_LARGE', { size_bytes: size, max_bytes: maxBytes });
    return await file.readFile();
  } finally {
    await file.close();
  }
}

/** Files below one folder, which is made when it is first written to. */
export function createLocalStore(root: string, files: FilesService): ByteStore {
  return {
    backend: 'local',
    uriPrefix: 'artifact://local/',
    write: (key, data, signal) =>
      wordedAs('ARTIFACT_WRITE_ERROR', async () => {
        const path = await walk(root, key, true);
        signal?.throwIfAborted();
        // Only a folder that was removed while we walked.
        if (path === null) throw artifactError('ARTIFACT_WRITE_ERROR');
        await files.writeAtomic(path, data);
      }),
    read: (key, maxBytes) =>
      wordedAs('ARTIFACT_READ_ERROR', async () => {
        const path = await walk(root, key, false);
        if (path === null) return null;
        return readFile(path, maxBytes).catch((error: unknown) => {
          if (isAbsent(error)) return null;
          throw error;
        });
      }),
    size: (key) =>
      wordedAs('ARTIFACT_READ_ERROR', async () => {
        const path = await walk(root, key, false);
        if (path === null) return null;
        return stat(path).then(
          ({ size }) => size,
          (error: unknown) => {
            if (isAbsent(error)) return null;
            throw error;
          },
        );
      }),
  };
}
