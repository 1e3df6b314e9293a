import type { TextRange } from 'mortise/contracts/text-analysis';

const ATX_HEADING = /^ {0,3}#{1,6}(?:[ \t]|$)/;
const SETEXT_UNDERLINE = /^ {0,3}(?:=+|-+)[ \t]*$/;
const FENCE = /^ {0,3}(`{3,}(?=[^`]*$)|~{3,})/;
/** Lines that are not paragraph text: quotes, list items, table rows, HTML, rules. */
const OTHER_BLOCK = /^ {0,3}(?:[>|<]|[-+*](?:[ \t]|$)|\d{1,9}[.)](?:[ \t]|$)|([*_])[ \t]*\1[ \t]*\1[*_ \t]*$)/;
const INDENTED = /^(?:\t| {4})/;

function* linesOf(text: string): Generator<{ readonly line: string; readonly start: number; readonly end: number }> {
  const lineEnd = /\r\n|\r|\n/g;
  let start = 0;
  for (const found of text.matchAll(lineEnd)) {
    yield { line: text.slice(start, found.index), start, end: found.index };
    start = found.index + found[0].length;
  }
  yield { line: text.slice(start), start, end: text.length };
}

/**
 * The Markdown heading lines of a text, in order. It reads lines only, which is enough to weigh words; exact CommonMark
 * sections need a parser.
 */
export function headingRanges(text: string): readonly TextRange[] {
  const ranges: TextRange[] = [];
  let fence = '';
  let paragraph: TextRange[] = [];
  for (const { line, start, end } of linesOf(text)) {
    const mark = FENCE.exec(line)?.[1] ?? '';
    if (fence !== '') {
      const closes = mark.startsWith(fence) && line.trim() === mark;
      if (closes) fence = '';
      continue;
    }
    const isUnderline = paragraph.length > 0 && SETEXT_UNDERLINE.test(line);
    if (!isUnderline && isParagraphText(line, mark, paragraph.length > 0)) {
      paragraph.push({ start, end });
      continue;
    }
    if (isUnderline) for (const textLine of paragraph) ranges.push(textLine);
    if (isUnderline || ATX_HEADING.test(line)) ranges.push({ start, end });
    fence = mark;
    paragraph = [];
  }
  return ranges;
}

/** Whether a line is paragraph text, which the next line can underline. */
function isParagraphText(line: string, mark: string, continues: boolean): boolean {
  if (mark !== '' || line.trim() === '' || ATX_HEADING.test(line) || OTHER_BLOCK.test(line)) return false;
  return continues || !INDENTED.test(line);
}
