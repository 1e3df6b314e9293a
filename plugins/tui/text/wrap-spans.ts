import { oneLine } from 'mortise/sdk';
import stringWidth from 'string-width';

/** The style of a part of a line. */
export interface Look {
  readonly color?: string;
  readonly background?: string;
  readonly bold?: boolean;
  readonly dim?: boolean;
  readonly italic?: boolean;
  readonly underline?: boolean;
}

export interface Span extends Look {
  readonly text: string;
}

/** One line of the terminal. */
export type Line = readonly Span[];

/** Columns that a text takes; Chinese characters and most emoji take two. */
export function textWidth(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  if (text.length > 1) return stringWidth(text);
  const known = widths.get(text);
  if (known !== undefined) return known;
  const width = stringWidth(text);
  widths.set(text, width);
  return width;
}

/** Widths of single code units; a user's languages have few of them. */
const widths = new Map<string, number>();

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });
const words = new Intl.Segmenter(undefined, { granularity: 'word' });

/** Texts of letters that are one code unit each and never combine: Latin, Cyrillic, Chinese, Japanese and Korean ones. */
const plain =
  /^[\n\x20-\x7e\u00c0-\u017f\u0400-\u0482\u048a-\u052f\u3001-\u3029\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fff\uac00-\ud7a3\uff01-\uff9d]*$/;
/** The last long text that was split: the input is split several times per key. */
let lastSplit: { readonly text: string; readonly parts: readonly string[] } = { text: '', parts: [] };

/** The grapheme clusters of a text. */
export function characters(text: string): readonly string[] {
  if (lastSplit.text === text) return lastSplit.parts;
  const parts = plain.test(text) ? text.split('') : [...graphemes.segment(text)].map(({ segment }) => segment);
  if (parts.length > 64) lastSplit = { text, parts };
  return parts;
}

/** Marks that must not begin a line. */
const closing = /^[\p{Pe}\p{Pf}.,;:!?%、。，．；：！？…—～·]+$/u;

/**
 * Breaks spans into lines between words, Chinese ones included, and inside a word only where it is wider than a line.
 * Control characters are replaced, and a tab becomes spaces.
 *
 * @param width columns of a line, with the prefix
 * @param prefix begins the first line; `rest` begins the others, and has the same width
 */
export function wrapSpans(
  spans: readonly Span[],
  width: number,
  prefix: Line = [],
  rest: Line = blankOf(prefix),
): Line[] {
  const room = Math.max(2, width - widthOf(prefix));
  const lines: Line[] = [];
  let line: Span[] = [];
  let used = 0;
  const end = (): void => {
    lines.push([...(lines.length === 0 ? prefix : rest), ...line]);
    line = [];
    used = 0;
  };
  const add = (text: string, look: Look): void => {
    const last = line.at(-1);
    if (last && sameLook(last, look)) line[line.length - 1] = { ...last, text: last.text + text };
    else line.push({ ...look, text });
    used += textWidth(text);
  };
  const place = (word: string, look: Look): void => {
    const needed = textWidth(word);
    if (used + needed <= room) add(word, look);
    else if (word.trim() === '') end();
    else if (closing.test(word)) {
      const moved = takeLastCharacter(line);
      end();
      if (moved) add(moved.text, moved);
      add(word, look);
    } else {
      if (used > 0) end();
      for (const character of needed > room ? characters(word) : [word]) {
        if (used + textWidth(character) > room) end();
        add(character, look);
      }
    }
  };
  for (const { text, ...look } of spans) {
    text.split(/\r?\n/).forEach((part, index) => {
      if (index > 0) end();
      for (const { segment } of words.segment(oneLine(part.replaceAll('\t', '    ')))) place(segment, look);
    });
  }
  if (line.length > 0 || lines.length === 0) end();
  return lines;
}

/** The beginning of a text that fits, with an ellipsis where it was cut. */
export function cutText(text: string, width: number): string {
  const flat = oneLine(text);
  if (textWidth(flat) <= width) return flat;
  let short = '';
  let used = 0;
  for (const character of characters(flat)) {
    used += textWidth(character);
    if (used > width - 1) break;
    short += character;
  }
  return width < 1 ? '' : `${short}…`;
}

export const padText = (text: string, width: number): string => text + ' '.repeat(Math.max(0, width - textWidth(text)));

export const widthOf = (line: Line): number => line.reduce((sum, { text }) => sum + textWidth(text), 0);

const blankOf = (line: Line): Line => (line.length === 0 ? [] : [{ text: ' '.repeat(widthOf(line)) }]);

/** Removes the last character of a line that has another one before it, to go with a closing mark. */
function takeLastCharacter(line: Span[]): Span | undefined {
  const last = line.at(-1);
  const parts = last ? characters(last.text) : [];
  const text = parts.at(-1);
  if (!last || text === undefined || text.trim() === '' || (parts.length < 2 && line.length < 2)) return undefined;
  if (parts.length < 2) line.pop();
  else line[line.length - 1] = { ...last, text: parts.slice(0, -1).join('') };
  return { ...last, text };
}

function sameLook(one: Look, other: Look): boolean {
  const keys = ['color', 'background', 'bold', 'dim', 'italic', 'underline'] as const;
  return keys.every((key) => one[key] === other[key]);
}
