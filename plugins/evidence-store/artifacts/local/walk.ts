import type { Stats } from 'node:fs';
import { lstat, mkdir, open, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolders } from 'mortise/sdk';
import { artifactError } from '../artifact-error.js';
import { codeOf, isAbsent } from './fs-error.js';

async function look(path: string): Promise<Stats | null> {
  try {
    return await lstat(path);
  } catch (error) {
    if (isAbsent(error)) return null;
    throw error;
  }
}

/** Makes the entry of a new folder last, where the system can. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r').catch(() => undefined);
  try {
    await folder?.sync();
  } catch {
    // Windows and some network file systems cannot.
  } finally {
    await folder?.close();
  }
}

async function makeFolder(parent: string, path: string): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 });
    await syncFolder(parent);
  } catch (error) {
    // Another upload made it in between; what it made is looked at again.
    if (codeOf(error) !== 'EEXIST') throw error;
  }
}

/** One step down. A link is never followed, not even one that stays inside. */
async function step(parent: string, name: string, make: boolean): Promise<string | null> {
  const path = join(parent, name);
  if (make && (await look(path)) === null) await makeFolder(parent, path);
  const found = await look(path);
  if (found === null) return null;
  if (!found.isDirectory()) throw artifactError('PATH_TRAVERSAL_ERROR');
  return path;
}

/**
 * The real path of a key's file below the root, whether or not the file is there; null when a folder on the way is not.
 * @throws MortiseError `PATH_TRAVERSAL_ERROR` when a link or a file is in the way.
 */
export async function walk(root: string, key: string, make: boolean): Promise<string | null> {
  if (make) makeFolders(root, 0o700);
  const names = key.split('/');
  let folder: string | null = await realpath(root).catch((error: unknown) => {
    if (!make && isAbsent(error)) return null;
    throw error;
  });
  for (const name of names.slice(0, -1)) {
    if (folder === null) return null;
    folder = await step(folder, name, make);
  }
  if (folder === null) return null;
  // Against a folder that was swapped for a link while we walked.
  if ((await realpath(folder)) !== folder) throw artifactError('PATH_TRAVERSAL_ERROR');
  const path = join(folder, names.at(-1) ?? '');
  const found = await look(path);
  if (found !== null && !found.isFile()) throw artifactError('PATH_TRAVERSAL_ERROR');
  return path;
}
