import { constants, watch } from 'node:fs';
import { access, lstat, readlink, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { Disposable } from '../sdk/context.js';
import { MortiseError } from '../sdk/errors.js';
import { makeFolders } from '../sdk/folders.js';

const reasons: Readonly<Record<string, string>> = {
  EACCES: 'this user may not write there',
  EPERM: 'this user may not write there',
  EROFS: 'that file system is read-only',
  ENOENT: 'no folder can be made there',
  EEXIST: 'a file has that name',
  ENOTDIR: 'a part of that path is a file',
  ENOSPC: 'that disk is full',
};

/** Makes the data directory, for its owner alone. @throws MortiseError `data_dir_unusable` */
export async function makeDataDir(dir: string): Promise<void> {
  try {
    makeFolders(dir, 0o700);
    await access(dir, constants.W_OK);
  } catch (error) {
    const code = String((error as NodeJS.ErrnoException).code);
    throw new MortiseError('data_dir_unusable', `The data directory ${dir} cannot be used: ${reasons[code] ?? code}.`, {
      hint: 'Set MORTISE_DATA_DIR (or --data-dir) to a folder that this user may write to.',
      cause: error,
    });
  }
}

/** Gives dropped-in plugins a `mortise` package to import: a link from their folder's `node_modules` to this project. */
export async function linkDroppedInPlugins(pluginsDir: string, projectDir: string): Promise<void> {
  const link = join(pluginsDir, 'node_modules', 'mortise');
  makeFolders(join(pluginsDir, 'node_modules'), 0o700);
  const present = await lstat(link).catch(() => undefined);
  if (present?.isSymbolicLink() && (await readlink(link)) === projectDir) return;
  if (present && !present.isSymbolicLink()) return;
  await rm(link, { force: true });
  // Two processes may make the same link at the same time.
  await symlink(projectDir, link, 'junction').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
}

/** Calls `run` half a second after the last change of a folder's entries. */
export function watchFolder(folder: string, run: () => void): Disposable {
  let timer: NodeJS.Timeout | undefined;
  try {
    const watcher = watch(folder, { persistent: false }, () => {
      clearTimeout(timer);
      timer = setTimeout(run, 500);
      timer.unref();
    });
    // Without it the folder is read when a plugin is enabled.
    watcher.on('error', () => watcher.close());
    return {
      dispose: () => {
        clearTimeout(timer);
        watcher.close();
      },
    };
  } catch {
    return { dispose: () => undefined };
  }
}
