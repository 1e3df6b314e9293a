import { realpath } from 'node:fs/promises';
import { isAbsolute, relative, resolve } from 'node:path';

/**
 * The path of a plugin's own file; undefined when it leaves the folder, by its name or through a link. A file that is not
 * there is judged by its name.
 */
export async function ownFile(folder: string, name: string): Promise<string | undefined> {
  const path = resolve(folder, name);
  if (!isInside(folder, path)) return undefined;
  const [realFolder, realFile] = await Promise.all([real(folder), real(path)]);
  if (realFolder === undefined || realFile === undefined) return path;
  return isInside(realFolder, realFile) ? realFile : undefined;
}

export function isInside(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way !== '' && way !== '..' && !way.startsWith('../') && !way.startsWith('..\\') && !isAbsolute(way);
}

function real(path: string): Promise<string | undefined> {
  return realpath(path).catch(() => undefined);
}
