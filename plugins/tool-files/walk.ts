import { opendir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { WorkspaceFiles } from 'mortise/contracts/tool-files';
import { inputError } from './errors.js';

/** Folders that hold no text of the user's own. */
const skipped = ['.git', 'node_modules'];
const maxFiles = 10_000;

/**
 * The files at and below a path, by real path, folders in the order of names. Links and what the tools must not read are
 * left out.
 *
 * @throws MortiseError `invalid_tool_input` when the path is not allowed or does not exist
 */
export async function walk(path: string, files: WorkspaceFiles, signal: AbortSignal): Promise<Walked> {
  const start = await files.locate(path, 'read');
  const facts = await stat(start).catch(() => undefined);
  if (!facts) throw inputError('missing');
  if (!facts.isDirectory()) return { start, isFile: true, files: [start], truncated: false };
  const found: string[] = [];
  const folders = [start];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    signal.throwIfAborted();
    const below: string[] = [];
    for (const entry of await entriesOf(folder)) {
      const real = join(folder, entry.name);
      if (entry.isDirectory() && !skipped.includes(entry.name) && (await files.isReadable(real))) below.push(real);
      if (!entry.isFile() || !(await files.isReadable(real))) continue;
      if (found.length === maxFiles) return { start, isFile: false, files: found, truncated: true };
      found.push(real);
    }
    folders.push(...below.reverse());
  }
  return { start, isFile: false, files: found, truncated: false };
}

interface Walked {
  readonly start: string;
  readonly isFile: boolean;
  readonly files: readonly string[];
  /** There are more than 10,000 files. */
  readonly truncated: boolean;
}

/** Entries by name; none when the folder cannot be read. */
async function entriesOf(folder: string) {
  try {
    const entries = [];
    for await (const entry of await opendir(folder)) entries.push(entry);
    return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  } catch {
    return [];
  }
}
