import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { WorkspaceFiles } from 'mortise/contracts/tool-files';
import { inputError } from '../errors.js';
import { nameFilter } from './name-filter.js';

const maxEntries = 2_000;

/** The names in a folder, sorted; those of folders end in a slash. */
export async function listFolder(
  { path, ignore = [] }: { readonly path: string; readonly ignore?: readonly string[] },
  files: WorkspaceFiles,
) {
  const real = await files.locate(path, 'read');
  const entries = await readdir(real, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
    throw inputError(error.code === 'ENOENT' ? 'missing' : 'path_invalid');
  });
  const isIgnored = nameFilter(ignore);
  const names: string[] = [];
  for (const entry of entries) {
    if (isIgnored(entry.name)) continue;
    const isReadable = await files.locate(join(real, entry.name), 'read').then(
      () => true,
      () => false,
    );
    if (isReadable) names.push(entry.isDirectory() ? `${entry.name}/` : entry.name);
  }
  names.sort();
  const rest = names.length - maxEntries;
  const text = [...names.slice(0, maxEntries), ...(rest > 0 ? [`... (${rest} more)`] : [])].join('\n');
  return {
    ok: true,
    path,
    count: names.length,
    entries: names.slice(0, maxEntries),
    text: text || `LS ${path} [empty]`,
  };
}
