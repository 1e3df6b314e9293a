import { lstat, readlink, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolders } from '../sdk/make-folders.js';

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
