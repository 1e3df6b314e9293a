import type { AnalysedToken, TermClass } from 'mortise/contracts/text-analysis';
import type { FoldedText } from './fold-text.js';

/** Maximum term length in UTF-16 units. Longer words are cut into pieces; of longer names only the parts are added. */
export const MAX_TERM_LENGTH = 128;

/** Collects the tokens of one text; its arguments are offsets into the folded text. */
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

/** Calls `visit` with consecutive pieces of at most `MAX_TERM_LENGTH` units; a surrogate pair is never cut. */
export function cutLong(text: string, start: number, end: number, visit: (start: number, end: number) => void): void {
  let from = start;
  while (end - from > MAX_TERM_LENGTH) {
    const last = text.charCodeAt(from + MAX_TERM_LENGTH - 1);
    const to = from + MAX_TERM_LENGTH - (last >= 0xd800 && last <= 0xdbff ? 1 : 0);
    visit(from, to);
    from = to;
  }
  visit(from, end);
}
