import { readFileSync, statSync } from 'node:fs';
import { relative, sep } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import { nameFilter } from './name-filter.js';

/** What the thread is asked. Files are real paths that may be read. */
export interface SearchJob {
  readonly kind: 'glob' | 'grep';
  readonly root: string;
  readonly files: readonly string[];
  readonly glob?: string | undefined;
  readonly extension?: string | undefined;
  readonly pattern?: string | undefined;
  readonly ignoreCase?: boolean | undefined;
  readonly multiline?: boolean | undefined;
  /** Lines of context. */
  readonly before?: number | undefined;
  readonly after?: number | undefined;
}

export interface FileMatches {
  readonly file: string;
  /** Matches, or matching lines unless the expression spans lines. */
  readonly count: number;
  readonly lines: readonly { readonly number: number; readonly text: string; readonly matches: boolean }[];
}

export type SearchReply =
  | { readonly ok: true; readonly found: readonly FileMatches[] }
  | { readonly ok: false; readonly message: string };

const maxFileBytes = 2 * 1_024 * 1_024;
/** Lines that are collected over all files, and characters of each. */
const maxLines = 5_000;
const maxLineLength = 500;

function run(job: SearchJob): SearchReply {
  const isNamed = pathFilter(job);
  const files = job.files.filter((file) => isNamed(relative(job.root, file).split(sep).join('/')));
  if (job.kind === 'glob') return { ok: true, found: files.map((file) => ({ file, count: 0, lines: [] })) };
  let expression: RegExp;
  try {
    expression = new RegExp(job.pattern ?? '', `${job.ignoreCase ? 'i' : ''}${job.multiline ? 'gms' : ''}`);
  } catch (error) {
    return { ok: false, message: error instanceof Error ? error.message : 'the pattern is invalid' };
  }
  const found: FileMatches[] = [];
  let left = maxLines;
  for (const file of files) {
    const text = textOf(file);
    const matches = text === undefined ? undefined : matchesOf(file, text, expression, job, left);
    if (!matches) continue;
    found.push(matches);
    left = Math.max(0, left - matches.lines.length);
  }
  return { ok: true, found };
}

function pathFilter({ kind, glob, extension }: SearchJob): (path: string) => boolean {
  const fits = glob === undefined ? () => true : nameFilter([glob], kind === 'grep');
  return (path) => fits(path) && (extension === undefined || path.endsWith(`.${extension}`));
}

function textOf(file: string): string | undefined {
  try {
    if (statSync(file).size > maxFileBytes) return undefined;
    const bytes = readFileSync(file);
    return bytes.includes(0) ? undefined : bytes.toString('utf8');
  } catch {
    return undefined;
  }
}

function matchesOf(
  file: string,
  text: string,
  expression: RegExp,
  { multiline = false, before = 0, after = 0 }: SearchJob,
  most: number,
): FileMatches | undefined {
  const lines = text.split(/\r?\n/);
  if (text.endsWith('\n')) lines.pop();
  const hits = multiline
    ? spannedLines(text, expression)
    : lines.flatMap((line, at) => (expression.test(line) ? [at] : []));
  if (hits.length === 0) return undefined;
  const matching = new Set(hits);
  const shown = new Set(hits.flatMap((at) => span(Math.max(0, at - before), Math.min(lines.length - 1, at + after))));
  return {
    file,
    count: matching.size,
    lines: [...shown]
      .sort((a, b) => a - b)
      .slice(0, most)
      .map((at) => ({ number: at + 1, text: (lines[at] ?? '').slice(0, maxLineLength), matches: matching.has(at) })),
  };
}

/** Indexes of all lines that a match touches. */
function spannedLines(text: string, expression: RegExp): readonly number[] {
  const lineAt = (offset: number) => text.slice(0, offset).split('\n').length - 1;
  return [...text.matchAll(expression)].flatMap((match) =>
    span(lineAt(match.index), lineAt(match.index + Math.max(0, match[0].length - 1))),
  );
}

function span(first: number, last: number): readonly number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}

// Nothing is done when a module only imports the types.
parentPort?.postMessage(run(workerData as SearchJob));
