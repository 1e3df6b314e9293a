import type { ContextParts } from './context-score.js';
import type { Document } from './documents.js';
import type { Ranked } from './rank-matches.js';
import { type ScoredQuery, type ScoreParts, scoreText, totalScore } from './score.js';

/** A candidate with its score. */
export interface Scored {
  readonly seq: number;
  readonly memoryId: string;
  readonly conversation: string | null;
  readonly parts: ScoreParts & Partial<ContextParts>;
  readonly score: number;
}

/** Number of likeliest candidates read at once, and the maximum in total before other candidates are searched. */
const pageSize = 12;
const maxLikeliest = 400;

/** Consecutive pages without a better hit that end the reading. */
const maxFruitlessPages = 3;

/** Scores the documents in one of the spaces. */
export function scoreDocuments(
  documents: readonly Document[],
  spaceTerms: readonly string[],
  query: ScoredQuery,
): readonly Scored[] {
  const readable = documents.filter((document) => spaceTerms.includes(document.spaceTerm));
  return readable.map((document) => {
    const { seq, memoryId, conversation } = document;
    const parts = scoreText(query, document);
    return { seq, memoryId, conversation, parts, score: totalScore(parts) };
  });
}

export function bestFirst(a: Scored, b: Scored): number {
  return b.score - a.score || b.seq - a.seq;
}

/**
 * Scores candidates in their order until no other can be among the best, or several pages contained none.
 *
 * @param enough number of hits needed; infinite when some may be filtered out later
 * @param beyond score that a candidate can have above its bound
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
  while (read < Math.min(seqs.length, maxLikeliest) && fruitless < maxFruitlessPages && mayBeAmongTheBest()) {
    const page = await score(Array.from(seqs.subarray(read, read + pageSize)));
    read += pageSize;
    const worst = scored[enough - 1];
    scored = [...scored, ...page].sort(bestFirst);
    // A page without a document of the spaces does not count.
    if (page.length > 0) fruitless = worst !== undefined && scored[enough - 1] === worst ? fruitless + 1 : 0;
  }
  return { scored, read };
}
