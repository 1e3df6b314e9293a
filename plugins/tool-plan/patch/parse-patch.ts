import { planError } from '../errors.js';

/** Lines that are replaced in a file, with the lines around them. */
export interface Hunk {
  /** A line that comes before the hunk. */
  readonly anchor: string | undefined;
  readonly before: readonly string[];
  readonly after: readonly string[];
  /** The hunk is at the end of the file. */
  readonly atEnd: boolean;
}

export type PatchStep =
  | { readonly kind: 'add'; readonly path: string; readonly lines: readonly string[] }
  | { readonly kind: 'delete'; readonly path: string }
  | {
      readonly kind: 'update';
      readonly path: string;
      readonly target: string | undefined;
      readonly hunks: readonly Hunk[];
    };

const begin = '*** Begin Patch';
const end = '*** End Patch';

/**
 * Parses a patch.
 *
 * @throws invalid_tool_input with the number of the line that does not fit
 */
export function parsePatch(text: string): readonly PatchStep[] {
  const lines = withoutFence(text.replaceAll('\r\n', '\n').trim().split('\n'));
  if (lines[0]?.trim() !== begin) throw malformed(1, `the patch must begin with ${begin}`);
  const last = lines.findLastIndex((line) => line.trim() === end);
  if (last < 1 || last < lines.length - 1) throw malformed(lines.length, `the patch must end with ${end}`);
  const steps: PatchStep[] = [];
  let at = 1;
  while (at < last) {
    if (lines[at]?.trim() === '') {
      at += 1;
      continue;
    }
    const next = nextHeader(lines, at + 1, last);
    steps.push(readStep(lines, at, next));
    at = next;
  }
  if (steps.length === 0) throw malformed(2, 'the patch changes no file');
  return steps;
}

/** Models often wrap a patch into a fence or the shell command that it once was an argument of. */
function withoutFence(lines: readonly string[]): readonly string[] {
  const first = lines.findIndex((line) => line.trim() === begin);
  const last = lines.findLastIndex((line) => line.trim() === end);
  const isWrapped = first > 0 && /^(?:```|apply_patch|<<|\$)/.test(lines[0]?.trim() ?? '');
  return isWrapped && last > first ? lines.slice(first, last + 1) : lines;
}

const header = /^\*\*\* (Add|Delete|Update) File: (.+)$/;

function nextHeader(lines: readonly string[], from: number, last: number): number {
  for (let at = from; at < last; at += 1) if (header.test(lines[at] ?? '')) return at;
  return last;
}

function readStep(lines: readonly string[], at: number, next: number): PatchStep {
  const [, verb, name = ''] = header.exec(lines[at] ?? '') ?? [];
  const path = name.trim();
  const body = lines.slice(at + 1, next);
  if (verb === 'Add') {
    const bad = body.findIndex((line) => !line.startsWith('+') && line.trim() !== '');
    if (bad >= 0) throw malformed(at + bad + 2, 'a line of a new file must begin with +');
    return { kind: 'add', path, lines: body.filter((line) => line.startsWith('+')).map((line) => line.slice(1)) };
  }
  if (verb === 'Delete') {
    const extra = body.findIndex((line) => line.trim() !== '');
    if (extra >= 0) throw malformed(at + extra + 2, 'a deleted file has no lines');
    return { kind: 'delete', path };
  }
  if (verb !== 'Update') throw malformed(at + 1, 'expected *** Add File, *** Delete File or *** Update File');
  const target = /^\*\*\* Move to: (.+)$/.exec(body[0] ?? '')?.[1]?.trim();
  const hunks = readHunks(target === undefined ? body : body.slice(1), at + (target === undefined ? 2 : 3));
  if (hunks.length === 0 && target === undefined) throw malformed(at + 1, 'the update has no hunk');
  return { kind: 'update', path, target, hunks };
}

interface OpenHunk {
  anchor: string | undefined;
  before: string[];
  after: string[];
  atEnd: boolean;
}

/** @param number of the first line, for messages */
function readHunks(lines: readonly string[], number: number): readonly Hunk[] {
  const hunks: OpenHunk[] = [];
  const open = (anchor: string | undefined): OpenHunk => {
    const hunk = { anchor, before: [], after: [], atEnd: false };
    hunks.push(hunk);
    return hunk;
  };
  let hunk: OpenHunk | undefined;
  for (const [index, line] of lines.entries()) {
    const anchor = /^@@(?: (.*))?$/.exec(line);
    if (anchor) {
      hunk = open(anchor[1]?.trim() === '' ? undefined : anchor[1]);
    } else if (line.trim() === '*** End of File') {
      if (hunk) hunk.atEnd = true;
    } else {
      // The first hunk may go without its @@.
      hunk ??= open(undefined);
      const [mark, text] = line === '' ? [' ', ''] : [line[0], line.slice(1)];
      if (mark !== ' ' && mark !== '-' && mark !== '+') {
        throw malformed(number + index, 'a line of a hunk must begin with a space, - or +');
      }
      if (mark !== '+') hunk.before.push(text);
      if (mark !== '-') hunk.after.push(text);
    }
  }
  return hunks.filter(({ before, after }) => before.length > 0 || after.length > 0);
}

function malformed(line: number, message: string) {
  return planError('invalid_tool_input', `patch line ${line}: ${message}`, { line });
}
