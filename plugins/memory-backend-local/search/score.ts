import { bm25Share } from 'mortise/contracts/text-analysis';
import { type Postings, type PostingsReader, readPostings } from '../store/postings.js';

/** A term of a query. */
export interface QueryTerm {
  readonly term: string;
  readonly hash: number;
  /** Position of its word or character in the query; variants of one word share it. */
  readonly place: number;
  readonly idf: number;
}

export interface ScoredQuery {
  readonly terms: readonly QueryTerm[];
  /** Number of distinct positions of the terms. */
  readonly words: number;
  /** Mean length of all memories, in terms. */
  readonly averageLength: number;
}

interface ScoredText {
  readonly length: number;
  readonly postings: Postings;
}

/** The parts of a score; `0.65·bm25 + 0.25·coverage + 0.10·phrase` is the score. */
export interface ScoreParts {
  readonly bm25: number;
  readonly coverage: number;
  readonly phrase: number;
  readonly matched_terms: readonly string[];
}

export const weights = { bm25: 0.65, coverage: 0.25, phrase: 0.1 };

/** The usual parameters for short texts. */
export const bm25Parameters = { k1: 1.2, b: 0.75 };

/** A word of the query at a position of the text. */
interface Mark {
  /** Position of the word in the query. */
  readonly of: number;
  readonly at: number;
}

/** Range of one term's positions in the postings. */
interface Found {
  readonly of: number;
  readonly from: number;
  readonly to: number;
}

function marksOf(reader: PostingsReader, found: readonly Found[]): Mark[] {
  const marks: Mark[] = [];
  for (const { of, from, to } of found) {
    for (let index = from; index < to; index += 1) marks.push({ of, at: reader.positionAt(index) });
  }
  return marks.sort((a, b) => a.at - b.at);
}

/** Whether some window of `width` positions contains all `wanted` words. */
function isWithinWindow(marks: readonly Mark[], wanted: number, width: number): boolean {
  const inWindow = new Map<number, number>();
  let first = 0;
  for (const mark of marks) {
    inWindow.set(mark.of, (inWindow.get(mark.of) ?? 0) + 1);
    for (let oldest = marks[first]; oldest !== undefined && mark.at - oldest.at >= width; oldest = marks[first]) {
      const remaining = (inWindow.get(oldest.of) ?? 1) - 1;
      if (remaining === 0) inWindow.delete(oldest.of);
      else inWindow.set(oldest.of, remaining);
      first += 1;
    }
    if (inWindow.size === wanted) return true;
  }
  return false;
}

/** 1 when all words of the query (at least two) occur within a window of twice their number, else 0. */
function phraseScore(reader: PostingsReader, found: readonly Found[], wanted: number): number {
  if (wanted < 2 || new Set(found.map(({ of }) => of)).size < wanted) return 0;
  return isWithinWindow(marksOf(reader, found), wanted, 2 * wanted) ? 1 : 0;
}

/** Scores one text, independently of the database. All parts are between 0 and 1. */
export function scoreText(query: ScoredQuery, text: ScoredText): ScoreParts {
  const lengthFactor = text.length / Math.max(query.averageLength, 1);
  const reader = readPostings(text.postings);
  const matched: string[] = [];
  const found: Found[] = [];
  let total = 0;
  let covered = 0;
  let weight = 0;
  for (const { term, hash, place, idf } of query.terms) {
    total += idf;
    const range = reader.find(hash);
    if (range === undefined) continue;
    matched.push(term);
    covered += idf;
    weight += idf * bm25Share(range.to - range.from, lengthFactor, bm25Parameters);
    found.push({ of: place, from: range.from, to: range.to });
  }
  if (total === 0) return { bm25: 0, coverage: 0, phrase: 0, matched_terms: matched };
  return {
    bm25: weight / total,
    coverage: covered / total,
    phrase: phraseScore(reader, found, query.words),
    matched_terms: matched,
  };
}

/** The weighted sum of the parts, 0 to 1. */
export function totalScore({ bm25, coverage, phrase }: ScoreParts): number {
  return weights.bm25 * bm25 + weights.coverage * coverage + weights.phrase * phrase;
}
