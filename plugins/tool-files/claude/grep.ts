import { stat } from 'node:fs/promises';
import { relative } from 'node:path';
import type { WorkspaceFiles } from 'mortise/contracts/tool-files';
import { walk } from '../walk.js';
import type { SearchThreads } from './search-threads.js';
import type { FileMatches } from './search-worker.js';

export interface GrepQuery {
  readonly pattern: string;
  readonly path?: string;
  readonly glob?: string;
  readonly type?: string;
  readonly output_mode?: 'files_with_matches' | 'content' | 'count';
  readonly '-A'?: number;
  readonly '-B'?: number;
  readonly '-C'?: number;
  readonly '-n'?: boolean;
  readonly '-i'?: boolean;
  readonly multiline?: boolean;
  readonly head_limit?: number;
}

const maxRows = 1_000;

/** Files whose path below the folder matches a glob, most recently changed first. */
export async function glob(
  { pattern, path = '.' }: { readonly pattern: string; readonly path?: string },
  files: WorkspaceFiles,
  threads: SearchThreads,
  signal: AbortSignal,
) {
  const walked = await walk(path, files, signal);
  const found = await threads.search({ kind: 'glob', root: walked.start, files: walked.files, glob: pattern }, signal);
  const dated = await Promise.all(
    found.map(async ({ file }) => ({ file, at: (await stat(file).catch(() => undefined))?.mtimeMs ?? 0 })),
  );
  const names = dated.sort((a, b) => b.at - a.at || (a.file < b.file ? -1 : 1)).map(({ file }) => file);
  const text = limited(names, undefined).join('\n');
  return { ok: true, pattern, count: names.length, files: names.slice(0, maxRows), text: text || 'No files found' };
}

/** Searches files by a regular expression, in a thread of its own with a time limit. */
export async function grep(query: GrepQuery, files: WorkspaceFiles, threads: SearchThreads, signal: AbortSignal) {
  const { pattern, path = '.', output_mode: mode = 'files_with_matches', head_limit: limit } = query;
  const around = query['-C'] ?? 0;
  const walked = await walk(path, files, signal);
  const found = await threads.search(
    {
      kind: 'grep',
      root: walked.start,
      files: walked.files,
      glob: query.glob,
      extension: query.type,
      pattern,
      ignoreCase: query['-i'] === true,
      multiline: query.multiline === true,
      before: query['-B'] ?? around,
      after: query['-A'] ?? around,
    },
    signal,
  );
  const shown = (file: string) => (walked.isFile ? path : relative(walked.start, file));
  const rows =
    mode === 'content'
      ? found.flatMap(({ file, lines }) => lines.map((line) => contentRow(shown(file), line, query['-n'] === true)))
      : found.map(({ file, count }) => (mode === 'count' ? `${shown(file)}:${count}` : shown(file)));
  const count = found.reduce((sum, one) => sum + one.count, 0);
  const text = limited(rows, limit).join('\n');
  return { ok: true, pattern, files: found.length, count, text: text || 'No matches found' };
}

function contentRow(file: string, { number, text, matches }: FileMatches['lines'][number], numbered: boolean): string {
  const mark = matches ? ':' : '-';
  return `${file}${mark}${numbered ? `${number}${mark}` : ''}${text}`;
}

function limited(rows: readonly string[], limit: number | undefined): readonly string[] {
  const most = Math.min(limit ?? maxRows, maxRows);
  const rest = rows.length - most;
  return rest > 0 ? [...rows.slice(0, most), `... (${rest} more)`] : rows;
}
