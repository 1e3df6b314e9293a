import { constants, type Stats } from 'node:fs';
import { lstat, mkdir, open, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type FilesService, MortiseError, makeFolders } from 'mortise/sdk';
import { type ArtifactErrorCode, artifactError } from './artifact-error.js';
import type { ByteStore } from './byte-store.js';

// Windows has no O_NOFOLLOW; there only the path check rejects links.
const READ = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0);

function codeOf(error: unknown): unknown {
  return error instanceof Error ? Reflect.get(error, 'code') : undefined;
}

function isAbsent(error: unknown): boolean {
  const code = codeOf(error);
  return code === 'ENOENT' || code === 'ENOTDIR';
}

/** The value of a file system call; null when the path does not exist. */
async function ifPresent<R>(call: Promise<R>): Promise<R | null> {
  try {
    return await call;
  } catch (error) {
    if (isAbsent(error)) return null;
    throw error;
  }
}

/** Converts errors of the file system to an artifact error, which contains no path. */
async function withErrorCode<R>(code: ArtifactErrorCode, run: () => Promise<R>): Promise<R> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof MortiseError) throw error;
    throw artifactError(code, { cause: String(codeOf(error) ?? 'unknown') }, error);
  }
}

/** Makes the entry of a new folder durable, where the system supports it. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r').catch(() => undefined);
  try {
    await folder?.sync();
  } catch {
    // Windows and some network file systems do not support it.
  } finally {
    await folder?.close();
  }
}

async function makeFolder(parent: string, path: string): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 });
    await syncFolder(parent);
  } catch (error) {
    // Created concurrently by another upload; the caller checks it again.
    if (codeOf(error) !== 'EEXIST') throw error;
  }
}

/** Descends into one folder. A link is never followed, not even one that stays inside. */
async function descend(parent: string, name: string, create: boolean): Promise<string | null> {
  const path = join(parent, name);
  if (create && (await ifPresent(lstat(path))) === null) await makeFolder(parent, path);
  const found = await ifPresent(lstat(path));
  if (found === null) return null;
  if (!found.isDirectory()) throw artifactError('PATH_TRAVERSAL_ERROR');
  return path;
}

/**
 * The real path of a key below the root, whether or not the file exists; null when a folder on the way does not.
 * @throws MortiseError `PATH_TRAVERSAL_ERROR` when a link or a file is in the way.
 */
async function resolvePath(root: string, key: string, create: boolean): Promise<string | null> {
  if (create) makeFolders(root, 0o700);
  const names = key.split('/');
  let folder: string | null = create ? await realpath(root) : await ifPresent(realpath(root));
  for (const name of names.slice(0, -1)) {
    if (folder === null) return null;
    folder = await descend(folder, name, create);
  }
  if (folder === null) return null;
  // Detects a folder that was replaced by a link meanwhile.
  if ((await realpath(folder)) !== folder) throw artifactError('PATH_TRAVERSAL_ERROR');
  const path = join(folder, names.at(-1) ?? '');
  const found: Stats | null = await ifPresent(lstat(path));
  if (found !== null && !found.isFile()) throw artifactError('PATH_TRAVERSAL_ERROR');
  return path;
}

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

/** Files below one folder, which is created with the first write. */
export function createLocalStore(root: string, files: FilesService): ByteStore {
  return {
    backend: 'local',
    uriPrefix: 'artifact://local/',
    write: (key, data, signal) =>
      withErrorCode('ARTIFACT_WRITE_ERROR', async () => {
        const path = await resolvePath(root, key, true);
        signal?.throwIfAborted();
        // Null only if a folder was removed concurrently.
        if (path === null) throw artifactError('ARTIFACT_WRITE_ERROR');
        await files.writeAtomic(path, data);
      }),
    read: (key, maxBytes) =>
      withErrorCode('ARTIFACT_READ_ERROR', async () => {
        const path = await resolvePath(root, key, false);
        return path === null ? null : ifPresent(readFile(path, maxBytes));
      }),
    size: (key) =>
      withErrorCode('ARTIFACT_READ_ERROR', async () => {
        const path = await resolvePath(root, key, false);
        const found = path === null ? null : await ifPresent(stat(path));
        return found?.size ?? null;
      }),
  };
}
