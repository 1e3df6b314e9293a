import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { WorkspaceFiles } from 'mortise/contracts/tool-files';
import type { Tool } from 'mortise/sdk';
import { inputError } from '../errors.js';
import { linesOf } from '../lines.js';
import { type ExactEdit, editFile, writeFile } from './edit-file.js';
import { type GrepQuery, glob, grep } from './grep.js';
import { nameFilter } from './name-filter.js';
import { editNotebook, type NotebookEdit, readNotebook } from './notebook.js';
import { SearchThreads } from './search-threads.js';

/** The file tools of Claude, by key. Their schemas have been checked when they run. */
export function claudeFileTools(files: WorkspaceFiles): Readonly<Record<string, Pick<Tool, 'run'>>> {
  const threads = new SearchThreads();
  return {
    claude_read: { run: (args) => readLines(args as { file_path: string; offset?: number; limit?: number }, files) },
    claude_write: { run: (args) => writeFile(args as { file_path: string; content: string }, files) },
    claude_edit: {
      run: (args) => {
        const { file_path, ...edit } = args as unknown as ExactEdit & { file_path: string };
        return editFile('Edit', file_path, [edit], files);
      },
    },
    claude_multi_edit: {
      run: (args) => {
        const { file_path, edits } = args as { file_path: string; edits: readonly ExactEdit[] };
        return editFile('MultiEdit', file_path, edits, files);
      },
    },
    claude_notebook_read: { run: (args) => readNotebook((args as { notebook_path: string }).notebook_path, files) },
    claude_notebook_edit: { run: (args) => editNotebook(args as unknown as NotebookEdit, files) },
    claude_ls: { run: (args) => listFolder(args as { path: string; ignore?: readonly string[] }, files) },
    claude_glob: {
      run: (args, { signal }) => glob(args as { pattern: string; path?: string }, files, threads, signal),
    },
    claude_grep: { run: (args, { signal }) => grep(args as unknown as GrepQuery, files, threads, signal) },
  };
}

const maxEntries = 2_000;

/** The names in a folder, sorted; those of folders end in a slash. */
async function listFolder(
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

const usualLimit = 2_000;

interface ReadLines {
  readonly file_path: string;
  readonly offset?: number;
  readonly limit?: number;
}

/** The lines of a file, each behind its number in six columns and a tab. */
async function readLines({ file_path: path, offset = 0, limit = usualLimit }: ReadLines, files: WorkspaceFiles) {
  const lines = linesOf((await files.readText(path)).text);
  if (lines.length === 0) return { ok: true, path, total_lines: 0, text: `Read ${path} [empty]` };
  const first = Math.max(1, offset);
  const shown = lines.slice(first - 1, first - 1 + limit);
  const text =
    shown.length === 0
      ? `Read ${path} [nothing from line ${first} on, total=${lines.length}]`
      : shown.map((line, index) => `${String(first + index).padStart(6)}\t${line}`).join('\n');
  return { ok: true, path, total_lines: lines.length, text };
}
