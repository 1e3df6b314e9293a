import type { Entry } from '../session/entries.js';
import { markdownLines } from '../text/markdown-lines.js';
import { cutText, type Line, type Span, textWidth, wrapSpans } from '../text/wrap-spans.js';

const dim = { dim: true } as const;
/** Lines of a tool result that is not shown in full. */
const summaryLines = 3;

interface Drawn {
  readonly width: number;
  readonly isWhole: boolean;
  readonly lines: readonly Line[];
}

/** Entries never change, so each is wrapped once per width. */
const cached = new WeakMap<Entry, Drawn>();

/**
 * The transcript as lines, with a blank line between messages.
 * @param isWhole whether tool results are shown in full
 */
export function transcriptLines(entries: readonly Entry[], width: number, isWhole: boolean): readonly Line[] {
  return entries.flatMap((entry, index) => {
    const before = entries[index - 1];
    const isClose = before?.kind === entry.kind && (entry.kind === 'tool' || entry.kind === 'notice');
    return [...(index === 0 || isClose ? [] : [[]]), ...linesOf(entry, width, isWhole)];
  });
}

function linesOf(entry: Entry, width: number, isWhole: boolean): readonly Line[] {
  const known = cached.get(entry);
  if (known?.width === width && known.isWhole === isWhole) return known.lines;
  const lines = draw(entry, width, isWhole);
  cached.set(entry, { width, isWhole, lines });
  return lines;
}

function draw(entry: Entry, width: number, isWhole: boolean): readonly Line[] {
  switch (entry.kind) {
    case 'user':
      return wrapSpans([{ text: entry.text, bold: true }], width, [{ text: '❯ ', color: 'cyan', bold: true }]);
    case 'assistant':
      return markdownLines(entry.text, width - 2).map((line, index) => [
        index === 0 ? { text: '● ', color: 'green' } : { text: '  ' },
        ...line,
      ]);
    case 'tool':
      return toolLines(entry, width, isWhole);
    case 'notice': {
      const isError = entry.tone === 'error';
      const mark: Span = isError ? { text: '✗ ', color: 'red', bold: true } : { text: '· ', ...dim };
      const look = isError ? { color: 'red' } : dim;
      const hint = entry.hint ? wrapSpans([{ text: entry.hint, ...dim }], width, [{ text: '  ' }]) : [];
      return [...wrapSpans([{ text: entry.text, ...look }], width, [mark]), ...hint];
    }
  }
}

const marks = {
  running: { text: '◌ ', color: 'yellow' },
  ok: { text: '✓ ', color: 'green' },
  failed: { text: '✗ ', color: 'red' },
  ended: { text: '○ ', dim: true },
} as const;

/** `✓ shell  echo hi`, and below it the result. */
function toolLines(
  { name, input, state, summary }: Extract<Entry, { kind: 'tool' }>,
  width: number,
  isWhole: boolean,
): readonly Line[] {
  const title = `${name}  `;
  const head: Line = [
    marks[state],
    { text: title, color: 'magenta', bold: true },
    { text: cutText(input.replaceAll(/\s+/g, ' '), width - 2 - textWidth(title)), ...dim },
  ];
  const look = state === 'failed' ? { color: 'red' } : dim;
  const result =
    summary.trim() === '' ? [] : wrapSpans([{ text: summary.trim(), ...look }], width, [{ text: '  └ ', ...dim }]);
  if (isWhole || result.length <= summaryLines) return [head, ...result];
  const more = result.length - summaryLines + 1;
  return [head, ...result.slice(0, summaryLines - 1), [{ text: `    … +${more} · Ctrl+O`, ...dim }]];
}
