import { isAbsolute } from 'node:path';
import { batchResult } from 'mortise/contracts/agent';
import type { WorkspaceFiles } from 'mortise/contracts/tool-files';
import { inputError } from './errors.js';
import { linesOf } from './lines.js';

const maxLines = 400;

export interface ViewItem {
  readonly path: string;
  readonly start: number;
  readonly end: number;
}

/** Lines of files. A range beyond the end shows the file from its beginning. */
export async function view(items: readonly ViewItem[], files: WorkspaceFiles): Promise<object> {
  const results: { readonly text: string }[] = [];
  for (const item of items) results.push(await viewOne(item, files));
  return batchResult(results);
}

async function viewOne({ path, start, end }: ViewItem, files: WorkspaceFiles) {
  checkRange(path, start, end);
  const lines = linesOf((await files.readText(path)).text);
  const total = lines.length;
  const isBeyond = end > total;
  const [first, last] = isBeyond ? [Math.min(1, total), Math.min(total, maxLines)] : [start, end];
  const shown = first === 0 ? [] : lines.slice(first - 1, last);
  const range = total === 0 ? 'empty' : `${first}-${last}`;
  const note = isBeyond ? ` (fallback from requested [${start}-${end}], total=${total})` : '';
  const numbered = shown.map((line, index) => `${first + index}: ${line}`);
  const text = [`view ${path} [${range}]${note}`, ...numbered].join('\n');
  return { ok: true, path, start: first, end: last, total_lines: total, content: shown.join('\n'), text };
}

/** @throws invalid_tool_input */
export function checkRange(path: string, start: number, end: number): void {
  if (!isAbsolute(path)) throw inputError('path_invalid', { reason: 'not_absolute' });
  if (end < start) throw inputError('range_invalid');
  if (end - start >= maxLines) throw inputError('range_too_large', { max_lines: maxLines });
}
