import stringWidth from 'string-width';
import { MortiseError, type MortiseErrorOptions } from '../sdk/errors.js';
import { oneLine } from '../sdk/text.js';
import { translated } from './translated.js';

/** The end of a command's help: examples. */
export function examples(...lines: readonly string[]): string {
  return `\n${translated(lines.length === 1 ? 'Example:' : 'Examples:')}\n${lines.map((line) => `  ${line}`).join('\n')}`;
}

/** Reasons of failures that are not errors of the API. */
type LocalReason =
  | 'wrong_usage'
  | 'no_server'
  | 'not_installed'
  | 'interrupted'
  | 'output_lost'
  | 'invalid_answer'
  | 'unexpected';

/** An error that did not come from the API. Scripts find its kind in `details.reason`. */
export class LocalError extends MortiseError {
  readonly reason: string;

  /** @param reason a plugin's command has its own reasons */
  constructor(reason: LocalReason | (string & {}), message: string, options: MortiseErrorOptions = {}) {
    super('cli_error', message, { ...options, details: { reason, ...options.details } });
    this.reason = reason;
  }
}

/** The command was used wrongly: exit 2. */
export class CommandError extends LocalError {
  constructor(message: string, hint: string, details: Readonly<Record<string, unknown>> = {}) {
    super('wrong_usage', message, { hint, details });
  }
}

/** A plugin's command that could not be completed, with its declared exit code. */
export class UnfinishedRun extends Error {
  readonly exitCode: number;

  constructor(exitCode: number, cause: unknown) {
    super('The command could not be completed.', { cause });
    this.exitCode = exitCode;
  }
}

/** The command needs the server, and there is none: exit 3. */
export function noServer(address: string | undefined): LocalError {
  const sentence = address
    ? translated('No Mortise server answers at {address}.', { address })
    : translated('No Mortise server answers.');
  return new LocalError('no_server', sentence, {
    hint: translated('Start one with npm start, or pass its address with --api-base.'),
  });
}

/** Minimum width of a truncated column, even if the line is then wider than the terminal. */
const narrowest = 6;

/** Maximum padding without a terminal, where no cell is truncated and one long cell would widen every line. */
const widestPadding = 60;

/** Columns that are never truncated, because users copy from them: by default the first one. */
const copiedColumns: readonly number[] = [0];

/**
 * Columns of text; the last one is not padded. With a `width` (terminal columns) the widest columns are truncated until
 * a line fits, but never those in `whole`, because part of an id is useless. Without one every cell is complete, and a
 * long cell shifts the rest of its line. A cell is printed as one line, whatever characters it contains.
 */
export function table(
  head: readonly string[],
  cells: readonly (readonly string[])[],
  width?: number,
  whole: readonly number[] = copiedColumns,
): string {
  const rows = cells.map((row) => row.map(oneLine));
  const needed = head.map((title, column) =>
    Math.max(...[title, ...rows.map((row) => row[column] ?? '')].map((cell) => stringWidth(cell))),
  );
  const widths =
    width === undefined ? needed.map((count) => Math.min(count, widestPadding)) : fitted(needed, width, whole);
  const aligned = (cell: string, count: number): string => padded(width === undefined ? cell : cut(cell, count), count);
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) => aligned(cell, widths[column] ?? 0))
      .join('  ')
      .trimEnd();
  return [line(head), line(widths.map((count) => '-'.repeat(count))), ...rows.map(line)].join('\n');
}

function fitted(needed: readonly number[], width: number, whole: readonly number[]): readonly number[] {
  const widths = [...needed];
  for (;;) {
    const over = widths.reduce((sum, count) => sum + count, 2 * (widths.length - 1)) - width;
    const cuttable = widths.filter((_, column) => !whole.includes(column));
    const widest = Math.max(0, ...cuttable);
    if (over <= 0 || widest <= narrowest) return widths;
    const next = Math.max(narrowest, ...cuttable.filter((count) => count < widest));
    const column = widths.findIndex((count, index) => count === widest && !whole.includes(index));
    widths[column] = Math.max(next === widest ? widest - 1 : next, widest - over);
  }
}

function padded(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - stringWidth(text)));
}

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

function cut(text: string, width: number): string {
  if (stringWidth(text) <= width) return text;
  let short = '';
  let used = 0;
  for (const { segment } of graphemes.segment(text)) {
    used += stringWidth(segment);
    if (used > width - 1) break;
    short += segment;
  }
  return `${short}…`;
}
