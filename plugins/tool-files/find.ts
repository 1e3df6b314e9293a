import { readFile, stat } from 'node:fs/promises';
import { relative } from 'node:path';
import type { WorkspaceFiles } from 'mortise/contracts/tool-files';
import { readTextFile } from './confinement.js';
import { linesOf } from './lines.js';
import { walk } from './walk.js';

const maxListed = 200;
const maxFileBytes = 2 * 1_024 * 1_024;
/** Characters of a matching line that are shown. */
const maxLineLength = 500;

export interface FindItem {
  readonly path: string;
  readonly pattern: string;
  readonly ignore_case?: boolean;
}

interface Match {
  readonly line: number;
  readonly text: string;
  readonly file?: string;
}

/** Finds a literal text in a file or in the files of a folder. */
export async function find(items: readonly FindItem[], files: WorkspaceFiles, signal: AbortSignal): Promise<object> {
  const results: Awaited<ReturnType<typeof findOne>>[] = [];
  for (const item of items) results.push(await findOne(item, files, signal));
  const [only] = results;
  if (only && results.length === 1) return only;
  const total = results.reduce((sum, { count }) => sum + count, 0);
  const text = results.map((result) => result.text).join('\n\n');
  return { ok: true, count: results.length, total_matches: total, results, text };
}

async function findOne({ path, pattern, ignore_case = false }: FindItem, files: WorkspaceFiles, signal: AbortSignal) {
  const walked = await walk(path, files, signal);
  const wanted = ignore_case ? pattern.toLowerCase() : pattern;
  const matches: Match[] = [];
  let count = 0;
  for (const real of walked.files) {
    signal.throwIfAborted();
    const text = walked.isFile ? (await readTextFile(real)).text : await smallText(real);
    if (text === undefined || !(ignore_case ? text.toLowerCase() : text).includes(wanted)) continue;
    for (const [index, line] of linesOf(text).entries()) {
      if (!(ignore_case ? line.toLowerCase() : line).includes(wanted)) continue;
      count += 1;
      if (matches.length === maxListed) continue;
      const where = walked.isFile ? {} : { file: relative(walked.start, real) };
      matches.push({ line: index + 1, text: line.slice(0, maxLineLength), ...where });
    }
  }
  const notes = [
    ...(ignore_case ? [' (ignore_case=true)'] : []),
    ...(count > maxListed ? [` (showing first ${maxListed})`] : []),
    ...(walked.truncated ? [' (the folder has more files than were searched)'] : []),
  ];
  const head = `find ${path} pattern="${pattern}" matched ${count} line(s)${notes.join('')}`;
  const lines = matches.map(({ line, text, file }) => `${file === undefined ? '' : `${file}:`}${line}: ${text}`);
  return { ok: true, path, pattern, ignore_case, count, matches, text: [head, ...lines].join('\n') };
}

/** The text of a file of at most 2 MiB; undefined for a larger or binary one. */
async function smallText(real: string): Promise<string | undefined> {
  try {
    if ((await stat(real)).size > maxFileBytes) return undefined;
    const bytes = await readFile(real);
    return bytes.includes(0) ? undefined : bytes.toString('utf8');
  } catch {
    return undefined;
  }
}
