/** Not part of a term: white space, punctuation, symbols, control characters, lone surrogates. */
export const SEPARATOR = 0;
/** A combining mark, part of the character before it. */
export const MARK = 1;
/** A lower-case letter, or a letter of a script without case. */
export const LETTER = 2;
export const CAPITAL = 3;
export const NUMBER = 4;
/** A character of a script written without spaces, or (Hangul) with words too long to match as a whole. */
export const SEGMENTED = 5;

const IS_SEGMENTED =
  /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}\u30fc\u3006]/u;

function classify(character: string): number {
  if (/\p{M}/u.test(character)) return MARK;
  if (!/[\p{L}\p{N}]/u.test(character)) return SEPARATOR;
  if (IS_SEGMENTED.test(character)) return SEGMENTED;
  if (/\p{N}/u.test(character)) return NUMBER;
  return /[\p{Lu}\p{Lt}]/u.test(character) ? CAPITAL : LETTER;
}

// The kind of every character of every text is read, so it is looked up in pages of 256, computed on first use (at most
// 4,352 pages). The table avoids regular expressions over whole texts, whose backtracking stack a megabyte without a space
// could exhaust.
const pages: Uint8Array[] = [];

function makePage(number: number): Uint8Array {
  const page = Uint8Array.from({ length: 256 }, (_, low) => classify(String.fromCodePoint(number * 256 + low)));
  pages[number] = page;
  return page;
}

/** The kind of a code point, for code points 0 to 0x10FFFF. */
function kindOf(codePoint: number): number {
  const page = pages[codePoint >> 8] ?? makePage(codePoint >> 8);
  return page[codePoint & 255] ?? SEPARATOR;
}

/** The kind of the character at an offset of `text`; `SEPARATOR` at its end. */
export function kindAt(text: string, offset: number): number {
  return kindOf(text.codePointAt(offset) ?? 0);
}

/** UTF-16 units of the character at an offset. */
export function widthAt(text: string, offset: number): number {
  return (text.codePointAt(offset) ?? 0) > 0xffff ? 2 : 1;
}
