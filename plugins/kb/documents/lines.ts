/** CJK characters count as one token each: Han, Hiragana, Katakana, Hangul. */
const cjk = /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]$/u;

/** Whether each code unit of the Basic Multilingual Plane is CJK: a table, because every character is tested. */
const isCjkUnit = Uint8Array.from({ length: 0x10000 }, (_, code) =>
  code < 0x1100 || (code >= 0xd800 && code <= 0xdfff) ? 0 : Number(cjk.test(String.fromCharCode(code))),
);

/** Code points of a text, divided by how they count as tokens. */
interface CharacterCounts {
  readonly cjk: number;
  readonly other: number;
}

function countCharacters(text: string): CharacterCounts {
  let counted = 0;
  let other = 0;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit < 0x1100) other += 1;
    else if (unit >= 0xd800 && unit <= 0xdbff && at + 1 < text.length) {
      const point = text.codePointAt(at) ?? 0;
      if (point > 0xffff) at += 1;
      if (point > 0xffff && cjk.test(String.fromCodePoint(point))) counted += 1;
      else other += 1;
    } else if (isCjkUnit[unit] === 1) counted += 1;
    else other += 1;
  }
  return { cjk: counted, other };
}

function tokensOf({ cjk: counted, other }: CharacterCounts): number {
  return Math.ceil(other / 4) + counted;
}

/** Estimated tokens of a text: one for each CJK code point, a quarter for each other one, rounded up. */
export function countTokens(text: string): number {
  return tokensOf(countCharacters(text));
}

/** The lines of a document, by index from 0, with constant-time token counts of ranges. */
export interface Lines {
  readonly count: number;
  text(index: number): string;
  isBlank(index: number): boolean;
  /** Tokens of the lines from `start` to before `end`, joined by line feeds. */
  tokens(start: number, end: number): number;
  /** The range without its blank lines at both ends; empty when all are blank. */
  trim(start: number, end: number): { readonly start: number; readonly end: number };
  /** The lines from `start` to before `end`, joined by line feeds. */
  slice(start: number, end: number): string;
}

/** Divides a text into lines. CRLF, LF and CR end a line; the text after the last one is a line. */
export function readLines(text: string): Lines {
  const lines = (text.includes('\r') ? text.replace(/\r\n?/g, '\n') : text).split('\n');
  const cjkBefore = new Float64Array(lines.length + 1);
  const otherBefore = new Float64Array(lines.length + 1);
  for (const [index, line] of lines.entries()) {
    const { cjk: counted, other } = countCharacters(line);
    cjkBefore[index + 1] = (cjkBefore[index] ?? 0) + counted;
    otherBefore[index + 1] = (otherBefore[index] ?? 0) + other;
  }
  const isBlank = (index: number): boolean => (lines[index] ?? '').trim() === '';
  return {
    count: lines.length,
    text: (index) => lines[index] ?? '',
    isBlank,
    tokens: (start, end) => {
      if (end <= start) return 0;
      const other = (otherBefore[end] ?? 0) - (otherBefore[start] ?? 0) + (end - start - 1);
      return tokensOf({ cjk: (cjkBefore[end] ?? 0) - (cjkBefore[start] ?? 0), other });
    },
    trim: (start, end) => {
      let [from, to] = [start, end];
      while (from < to && isBlank(from)) from += 1;
      while (to > from && isBlank(to - 1)) to -= 1;
      return { start: from, end: to };
    },
    slice: (start, end) => lines.slice(start, end).join('\n'),
  };
}
