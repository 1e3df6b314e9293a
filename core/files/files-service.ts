import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolders } from '../sdk/folders.js';
import type { FilesService } from '../sdk/index.js';
import { confine } from './confine.js';
import { writeAtomic } from './write-atomic.js';

/** The folders of a plugin's file service. */
export interface FilesOptions {
  readonly plugin: string;
  /** Absolute. */
  readonly dataDir: string;
  /** Absolute path of the folder with the plugin's `plugin.json`. */
  readonly pluginFolder: string;
}

/** The file service of one plugin. */
export function createFiles(options: FilesOptions): FilesService {
  let own: Promise<string> | undefined;

  async function makeOwnFolder(): Promise<string> {
    const folder = join(options.dataDir, options.plugin);
    makeFolders(folder, 0o700);
    await chmod(folder, 0o700);
    return folder;
  }

  return {
    pluginFolder: options.pluginFolder,
    ownFolder() {
      own ??= makeOwnFolder().catch((error: unknown) => {
        own = undefined;
        throw error;
      });
      return own;
    },
    confine,
    writeAtomic: (path, data) => writeAtomic(path, data),
  };
}
