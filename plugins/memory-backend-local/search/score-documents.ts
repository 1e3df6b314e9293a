import type { Document } from './documents.js';
import type { Ranked } from './rank-matches.js';
import { type ScoredQuery, type ScoreParts, scoreText, totalScore } from './score.js';

/** A candidate with its score. */
export interface Scored {
  readonly seq: number;
  readonly memoryId: string;
  readonly parts: ScoreParts;
  readonly score: number;
}

/** Of the likeliest candidates so many are read at once, and so many of them at the most before others are looked for. */
const PAGE = 12;
const MOST_LIKELY = 400;

/** Pages in a row that have none of the best: the end. */
const FRUITLESS_PAGES = 3;

/** The documents in one of the spaces, scored. */
export function scoreDocuments(
  documents: readonly Document[],
  spaceTerms: readonly string[],
  query: ScoredQuery,
): readonly Scored[] {
  const readable = documents.filter((document) => spaceTerms.includes(document.spaceTerm));
  return readable.map((document) => {
    const parts = scoreText(query, document);
    return { seq: document.seq, memoryId: document.memoryId, parts, score: totalScore(parts) };
  });
}

export function bestFirst(a: Scored, b: Scored): number {
  return b.score - a.score || b.seq - a.seq;
}

/**
 * Scores candidates in their order until no other can be among the best, or pages of them had none that is.
 *
 * @param enough hits wanted; more than there are candidates when some may be refused yet
 * @param beyond what a candidate may score above its bound
 */
export async function scoreLikeliest(
  { seqs, bounds }: Ranked,
  enough: number,
  beyond: number,
  score: (seqs: readonly number[]) => Promise<readonly Scored[]>,
): Promise<{ readonly scored: readonly Scored[]; readonly read: number }> {
  let scored: Scored[] = [];
  let read = 0;
  let fruitless = 0;
  const mayBeAmongTheBest = (): boolean => {
    const worst = scored[enough - 1];
    return worst === undefined || (bounds[read] ?? 0) + beyond > worst.score;
  };
  while (read < Math.min(seqs.length, MOST_LIKELY) && fruitless < FRUITLESS_PAGES && mayBeAmongTheBest()) {
    const page = await score(Array.from(seqs.subarray(read, read + PAGE)));
    read += PAGE;
    const worst = scored[enough - 1];
    scored = [...scored, ...page].sort(bestFirst);
    // A page of which nothing may be read says nothing of those behind it.
    if (page.length > 0) fruitless = worst !== undefined && scored[enough - 1] === worst ? fruitless + 1 : 0;
  }
  return { scored, read };
}
