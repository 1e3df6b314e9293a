import type { WorkspaceFiles } from 'mortise/contracts/tool-files';
import { linesOf } from '../lines.js';

const usualLimit = 2_000;

interface ReadLines {
  readonly file_path: string;
  readonly offset?: number;
  readonly limit?: number;
}

/** The lines of a file, each behind its number in six columns and a tab. */
export async function readLines({ file_path: path, offset = 0, limit = usualLimit }: ReadLines, files: WorkspaceFiles) {
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
