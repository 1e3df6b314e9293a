import { MortiseError } from '../sdk/index.js';

const reasons: Readonly<Record<string, string>> = {
  ENOSPC: 'its disk is full',
  EDQUOT: 'its disk quota is used up',
  EROFS: 'its disk is read-only',
  EACCES: 'this process may not write there',
  EPERM: 'this process may not write there',
  EIO: 'its disk failed',
};

/**
 * Runs what writes a file of the operator.
 *
 * @param shown the file as anyone may see it
 * @throws MortiseError `disk_full` (503, to be tried again) or `file_not_written` (503) for an error of the file system
 */
export async function sayUnwritten<T>(shown: string, write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    const reason = reasons[code];
    if (reason === undefined) throw error;
    const full = code === 'ENOSPC' || code === 'EDQUOT';
    throw new MortiseError(full ? 'disk_full' : 'file_not_written', `${shown} could not be written: ${reason}.`, {
      status: 503,
      retryable: full,
      cause: error,
      hint: full
        ? 'Nothing was changed. Free space on that disk and repeat the change.'
        : 'Nothing was changed. Make the file and its folder writable and repeat the change.',
    });
  }
}
