import { oneLine } from 'mortise/sdk';
import { questionOf, type ScreenState } from '../session/screen-state.js';
import { suggestionsFor } from '../session/slash-commands.js';
import type { Edited } from '../text/edit-text.js';
import { characters, type Line, textWidth, wrapSpans } from '../text/wrap-spans.js';
import type { Words } from '../words.js';
import { transcriptLines } from './transcript-lines.js';

/** From this width on the chats are shown beside the transcript. */
const widthForSidebar = 96;
const sidebarColumns = 30;
const maxInputRows = 6;
const smallest = { columns: 24, rows: 8 };

/** Where everything is, in columns and rows. */
export interface Layout {
  readonly isTooSmall: boolean;
  readonly columns: number;
  /** One row of the terminal stays free: a full screen would scroll. */
  readonly rows: number;
  /** 0 when the chats are not shown. */
  readonly sidebarColumns: number;
  /** Rows of the rule below the header: none on a low terminal. */
  readonly ruleRows: 0 | 1;
  readonly bodyColumns: number;
  readonly bodyRows: number;
  readonly lines: readonly Line[];
  /** First line that is shown, and the largest value that it can have. */
  readonly top: number;
  readonly lastTop: number;
  /** Between transcript and input: a question, or commands to choose from. */
  readonly above: readonly Line[];
  readonly input: InputView;
}

interface InputView {
  readonly lines: readonly string[];
  readonly row: number;
  readonly column: number;
}

export function layoutOf(state: ScreenState, words: Words): Layout {
  const { columns } = state;
  const rows = state.rows - 1;
  const sidebar = columns >= widthForSidebar ? sidebarColumns : 0;
  const bodyColumns = columns - sidebar - 2;
  const input = inputView(state.input, columns - 6, Math.max(1, Math.min(maxInputRows, rows - 8)));
  const above = linesAbove(state, words, columns - 4).slice(0, Math.max(0, rows - input.lines.length - 6));
  const ruleRows = rows >= 14 ? 1 : 0;
  // Header, frame of the input and status line take four rows.
  const bodyRows = Math.max(1, rows - 4 - ruleRows - input.lines.length - above.length);
  const lines = transcriptLines(state.entries, bodyColumns, state.showsResults);
  const lastTop = Math.max(0, lines.length - bodyRows);
  const top = state.top === 'end' ? lastTop : Math.min(state.top, lastTop);
  const isTooSmall = columns < smallest.columns || state.rows < smallest.rows;
  return {
    isTooSmall,
    columns,
    rows,
    sidebarColumns: sidebar,
    ruleRows,
    bodyColumns,
    bodyRows,
    lines,
    top,
    lastTop,
    above,
    input,
  };
}

function linesAbove({ form, input, suggestion }: ScreenState, words: Words, width: number): readonly Line[] {
  const question = form && questionOf(form);
  if (question) {
    const count = form.request.questions.length;
    const title = `${question.header}${count > 1 ? ` (${form.at + 1}/${count})` : ''}`;
    const options = (question.options ?? []).flatMap(({ label, description = '' }, index) => {
      const isMarked = index === form.option && input.text === '';
      return wrapSpans(
        [
          { text: label, bold: isMarked, ...(isMarked ? { color: 'cyan' } : {}) },
          { text: description && `  ${description}`, dim: true },
        ],
        width,
        [
          { text: isMarked ? '❯ ' : '  ', color: 'cyan' },
          { text: `${index + 1}. `, dim: true },
        ],
      );
    });
    return [
      ...wrapSpans([{ text: title, bold: true, color: 'yellow' }], width, [
        { text: '? ', bold: true, color: 'yellow' },
      ]),
      ...wrapSpans([{ text: question.question }], width, [{ text: '  ' }]),
      ...options,
    ];
  }
  const suggestions = suggestionsFor(input.text);
  return suggestions.flatMap(({ name, summary }, index) => {
    const isMarked = index === Math.min(suggestion, suggestions.length - 1);
    const line: Line = [
      { text: isMarked ? '❯ ' : '  ', color: 'cyan' },
      { text: name.padEnd(11), bold: isMarked, ...(isMarked ? { color: 'cyan' } : {}) },
      { text: words[summary], dim: true },
    ];
    return wrapSpans(line, width).slice(0, 1);
  });
}

/** The wrapped input and the cursor in it; only the rows around the cursor when there are too many. */
function inputView({ text, cursor }: Edited, width: number, maxRows: number): InputView {
  const lines = [''];
  let column = 0;
  let at = { row: 0, column: 0 };
  const all = characters(text);
  for (const [index, character] of [...all, ''].entries()) {
    const needed = character === '\n' ? 0 : textWidth(character);
    if (column + needed > width || (character === '' && column >= width)) {
      lines.push('');
      column = 0;
    }
    if (index === cursor) at = { row: lines.length - 1, column };
    if (character === '\n') {
      lines.push('');
      column = 0;
    } else {
      lines[lines.length - 1] += character;
      column += needed;
    }
  }
  const first = Math.max(0, Math.min(at.row - maxRows + 1, lines.length - maxRows));
  return { lines: lines.slice(first, first + maxRows).map(oneLine), row: at.row - first, column: at.column };
}
