import type { TextQuestion } from 'mortise/contracts/logbook';

const segmenter = new Intl.Segmenter('und', { granularity: 'word' });

/** The phrase and the words of a query, for plain text search. */
export function splitQuestion(query: string): TextQuestion {
  const words = Array.from(segmenter.segment(query))
    .filter(({ isWordLike }) => isWordLike)
    .map(({ segment }) => segment.toLowerCase());
  return { phrase: query.trim(), terms: [...new Set(words)] };
}
