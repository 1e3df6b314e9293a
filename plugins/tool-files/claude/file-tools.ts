import type { WorkspaceFiles } from 'mortise/contracts/tool-files';
import type { Tool } from 'mortise/sdk';
import { type ExactEdit, editFile, writeFile } from './edit-file.js';
import { type GrepQuery, glob, grep } from './grep.js';
import { listFolder } from './list-folder.js';
import { editNotebook, type NotebookEdit, readNotebook } from './notebook.js';
import { readLines } from './read-lines.js';
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
