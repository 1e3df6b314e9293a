import type { AnalysedToken, TermClass } from 'mortise/contracts/text-analysis';
import type { FoldedText } from './fold-text.js';

/** The longest term in UTF-16 units. Longer words are cut into pieces of this length, longer wholes left to their parts. */
export const LONGEST_TERM = 128;

/** Collects the tokens of one text; offsets given to it are those of the folded text. */
export interface TokenSink {
  readonly folded: FoldedText;
  readonly tokens: AnalysedToken[];
  add(termClass: TermClass, term: string, start: number, end: number): void;
}

export function createTokenSink(folded: FoldedText): TokenSink {
  const tokens: AnalysedToken[] = [];
  return {
    folded,
    tokens,
    add(termClass, term, start, end) {
      tokens.push({ term, class: termClass, start: folded.startOf(start), end: folded.endOf(end - 1) });
    },
  };
}

/** Calls `visit` with consecutive pieces of at most `LONGEST_TERM` units; a surrogate pair is never cut. */
export function cutLong(text: string, start: number, end: number, visit: (start: number, end: number) => void): void {
  let from = start;
  while (end - from > LONGEST_TERM) {
    const last = text.charCodeAt(from + LONGEST_TERM - 1);
    const to = from + LONGEST_TERM - (last >= 0xd800 && last <= 0xdbff ? 1 : 0);
    visit(from, to);
    from = to;
  }
  visit(from, end);
}
