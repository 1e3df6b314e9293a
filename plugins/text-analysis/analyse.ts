import type { AnalysedToken } from 'mortise/contracts/text-analysis';
import { addName, isWordKind } from './add-name.js';
import { addSegmented, createWordBorders } from './add-segmented.js';
import { kindAt, SEGMENTED, widthAt } from './character-kind.js';
import { foldText } from './fold-text.js';
import { createTokenSink } from './token-sink.js';

/** The tokens of a text: one pass over its folded form, each token led back to its place in the original. */
export function analyse(text: string): readonly AnalysedToken[] {
  const folded = foldText(text);
  const sink = createTokenSink(folded);
  const wordBorders = createWordBorders(folded.lower);
  let at = 0;
  while (at < folded.cased.length) {
    const kind = kindAt(folded.cased, at);
    if (kind === SEGMENTED) at = addSegmented(sink, at, wordBorders);
    else if (isWordKind(kind)) at = addName(sink, at);
    else at += widthAt(folded.cased, at);
  }
  return sink.tokens;
}
