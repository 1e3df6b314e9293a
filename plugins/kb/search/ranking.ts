import type { Bm25Parameters, TermClass } from 'mortise/contracts/text-analysis';

/** Weights and limits of the ranking, measured on English abstracts and Chinese questions; see the README. */
export const ranking = {
  /** Weight of a term by its class. */
  classWeights: { stem: 1, raw: 0.1, identifier: 0.3, word: 1, bigram: 0.5, char: 1 } satisfies Record<
    TermClass,
    number
  >,
  latin: { k1: 2, b: 0.75 } satisfies Bm25Parameters,
  segmented: { k1: 1.5, b: 0.75 } satisfies Bm25Parameters,
  /** Weight of a term that replaces one that occurs nowhere. */
  expansionWeight: 0.5,
  /** Terms in more than this share of the chunks find no candidates while rarer ones find enough. */
  commonShare: 0.2,
  /** Shares of the best score. */
  phrase: 0.25,
  /** Words of the query that are near one another, at most so many words apart. */
  neighbours: { share: 0.2, distance: 8 },
  coverage: 0.1,
  grams: 0.1,
  /** A document weighs by its score to the power of `sharpness`, so that doubtful ones add little. */
  feedback: { share: 1, documents: 5, sharpness: 3, terms: 120, commonShare: 0.35, k1: 1.2, b: 0.5 },
  passage: { latin: 0.03, segmented: 0.3, documents: 30, sentences: 3 },
  /** A query uses its rarest terms. */
  maxTerms: 64,
} as const;

/** Whether a term is of a script written without spaces. */
export function isSegmented(termClass: string): boolean {
  return termClass === 'word' || termClass === 'bigram' || termClass === 'char';
}

/**
 * The recency boost: 1 + amount · e^(−days / scale), so that a document of today counts half as much again by default and
 * an old one is not penalised.
 *
 * @param days whole days since the date of the document; negative ones count as 0
 */
export function recencyBoost(
  days: number,
  { amount, scale }: { readonly amount: number; readonly scale: number },
): number {
  return 1 + amount * Math.exp(-Math.max(0, days) / scale);
}
