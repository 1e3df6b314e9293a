import { planError } from '../errors.js';
import type { Hunk } from './parse-patch.js';

/** How exactly lines of a patch must be those of the file: models lose white space. */
const comparisons: readonly ((line: string) => string)[] = [
  (line) => line,
  (line) => line.trimEnd(),
  (line) => line.trim(),
];

/**
 * The text with all hunks applied, in order. Lines keep the text's usual ending, and whether it ends with a newline does not
 * change.
 *
 * @throws invalid_tool_input when a hunk is not found
 */
export function applyHunks(path: string, text: string, hunks: readonly Hunk[]): string {
  const newline = text.includes('\r\n') ? '\r\n' : '\n';
  const isEnded = text === '' || text.endsWith('\n');
  const lines = text === '' ? [] : text.split(/\r?\n/);
  if (isEnded && lines.length > 0) lines.pop();
  let from = 0;
  for (const [index, { anchor, before, after, atEnd }] of hunks.entries()) {
    if (anchor !== undefined) {
      const at = seek(lines, [anchor], from, false);
      if (at === undefined) throw notFound(path, index, 'its context line');
      from = at + 1;
    }
    const at = before.length === 0 ? insertionPoint(lines, anchor, from) : seek(lines, before, from, atEnd);
    if (at === undefined) throw notFound(path, index, 'its lines');
    lines.splice(at, before.length, ...after);
    from = at + after.length;
  }
  const body = lines.join(newline);
  return isEnded && lines.length > 0 ? `${body}${newline}` : body;
}

/** Lines without any context are added behind the anchor, else at the end. */
function insertionPoint(lines: readonly string[], anchor: string | undefined, from: number): number {
  return anchor === undefined ? lines.length : from;
}

/** Where the lines are, from a position on; the most exact comparison that finds them decides. */
function seek(lines: readonly string[], wanted: readonly string[], from: number, atEnd: boolean): number | undefined {
  const last = lines.length - wanted.length;
  for (const form of comparisons) {
    const given = wanted.map(form);
    const fits = (at: number) => given.every((line, offset) => form(lines[at + offset] ?? '') === line);
    if (atEnd && last >= from && fits(last)) return last;
    for (let at = from; at <= last; at += 1) if (fits(at)) return at;
  }
  return undefined;
}

function notFound(path: string, index: number, what: string) {
  const message = `hunk ${index + 1} of ${path} does not fit: ${what} were not found in the file`;
  return planError('invalid_tool_input', message.replace('line were', 'line was'), { path, hunk: index + 1 });
}
