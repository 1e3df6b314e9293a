import { type FileHandle, open, realpath } from 'node:fs/promises';
import { join, sep } from 'node:path';

/** An open file below the served folder. */
export interface FoundFile {
  readonly handle: FileHandle;
  readonly name: string;
  readonly size: number;
  /** Epoch milliseconds. */
  readonly modifiedAt: number;
}

const absent = new Set(['ENOENT', 'ENOTDIR', 'ENAMETOOLONG', 'EACCES', 'ELOOP', 'EISDIR']);

/**
 * Opens the file that a raw, well-formed path names below `folder`; a folder stands for its `index.html`. Undefined for
 * what is not there, and for what must not be: names that begin with a dot, steps upwards, and links that lead out.
 */
export async function findFile(folder: string, rawPath: string): Promise<FoundFile | undefined> {
  const segments = decodeURIComponent(rawPath).split('/');
  if (segments.at(-1) === '') segments.pop();
  if (segments.some((segment) => segment === '' || segment.startsWith('.') || /[\\\0]/.test(segment))) return undefined;
  return (await openBelow(folder, segments)) ?? (await openBelow(folder, [...segments, 'index.html']));
}

async function openBelow(folder: string, segments: readonly string[]): Promise<FoundFile | undefined> {
  let handle: FileHandle | undefined;
  try {
    const root = await realpath(folder);
    const file = await realpath(join(root, ...segments));
    if (!file.startsWith(root + sep)) return undefined;
    handle = await open(file, 'r');
    const facts = await handle.stat();
    if (facts.isFile()) return { handle, name: file, size: facts.size, modifiedAt: Math.trunc(facts.mtimeMs) };
    await handle.close();
    return undefined;
  } catch (error) {
    await handle?.close();
    if (error instanceof Error && absent.has(String((error as NodeJS.ErrnoException).code))) return undefined;
    throw error;
  }
}
