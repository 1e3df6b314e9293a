import { randomBytes } from 'node:crypto';
import { open, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

async function modeOf(path: string, otherwise: number): Promise<number> {
  try {
    return (await stat(path)).mode & 0o777;
  } catch {
    return otherwise;
  }
}

async function syncFolder(path: string): Promise<void> {
  try {
    const folder = await open(path, 'r');
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  } catch {
    // Some file systems and Windows cannot sync a folder; the rename itself is still atomic there.
  }
}

/**
 * Replaces a file atomically: writes and syncs a temporary file in the same folder and renames it over the target, so
 * that readers, even after a crash, see either the old or the new bytes. An existing file keeps its mode, a new one gets
 * `mode`.
 */
export async function writeAtomic(path: string, data: string | Uint8Array, mode = 0o644): Promise<void> {
  const temporary = join(dirname(path), `.${basename(path)}.${randomBytes(6).toString('hex')}.tmp`);
  const kept = await modeOf(path, mode);
  try {
    const file = await open(temporary, 'wx', kept);
    try {
      await file.chmod(kept);
      await file.writeFile(data);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  await syncFolder(dirname(path));
}
