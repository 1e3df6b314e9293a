import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { MortiseError } from '../sdk/errors.js';
import { makeFolders } from '../sdk/make-folders.js';

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
