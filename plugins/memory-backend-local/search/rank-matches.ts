import type { Corpus } from './corpus.js';
import { type InOrder, inOrder, reachedBy } from './order-scores.js';
import { bm25Share, WEIGHTS } from './score.js';
import type { Matches } from './term-matches.js';

/** A term of the query whose memories are listed. */
export interface ListedTerm {
  readonly all: Matches;
  readonly again: Matches;
  readonly idf: number;
  /** The place of its word in the query. */
  readonly place: number;
  /** Its memories are candidates; those of other terms only count for candidates. */
  readonly selects: boolean;
}

export interface RankQuery {
  readonly terms: readonly ListedTerm[];
  /** Every candidate is in all of them. */
  readonly required: readonly Matches[];
  /** Memories that have all of the words, and what those of them are worth that are not listed. */
  readonly whole: { readonly seqs: readonly number[]; readonly idf: number };
  /** The numbers of the spaces asked for. */
  readonly spaces: ReadonlySet<number>;
  /** Sum of `idf` of all terms, those without a list among them. */
  readonly totalIdf: number;
  /** Number of different words. */
  readonly words: number;
  /** Words of which no term is listed. */
  readonly unlistedWords: number;
  /** Candidates wanted; what cannot be among so many best ones may be left out. */
  readonly enough: number;
}

export interface Ranked extends InOrder {
  /** No candidate was left out. */
  readonly isComplete: boolean;
}

/** Times that a term is taken to come which comes again: most come twice. */
const AGAIN = 2;

/** Words that are told apart, the bits of a number. */
const MOST_WORDS = 31;

/** Memory for every document's part of a score: taken once, and put back to 0 after each use. */
class Board {
  score = new Float64Array();
  /** One bit for each word found. */
  words = new Uint32Array();
  /** Number of required lists that the document is in. */
  required = new Uint8Array();

  reach(last: number): void {
    if (last < this.score.length) return;
    const size = 2 * (last + 1);
    this.score = new Float64Array(size);
    this.words = new Uint32Array(size);
    this.required = new Uint8Array(size);
  }
}

function bits(words: number): number {
  let count = 0;
  for (let left = words; left !== 0; left &= left - 1) count += 1;
  return count;
}

/** Candidates that are put in order where not all of them are asked for. */
const MOST_ORDERED = 500;

/** Ranks memories by the terms they have and their length, without reading them. */
export type RankMatches = (query: RankQuery, corpus: Corpus) => Ranked;

export function createRanking(): RankMatches {
  const board = new Board();

  return ({ terms, required, whole, spaces, totalIdf, words, unlistedWords, enough }, corpus) => {
    const lists = [...terms.map(({ all }) => all), ...required];
    board.reach(Math.max(corpus.last, whole.seqs[0] ?? 0, ...lists.map((list) => list.at(-1) ?? 0)));
    const { score, words: found } = board;
    const { lengths, spaceNumbers, averageLength } = corpus;
    const touched: number[] = [];

    for (const [index, list] of required.entries()) {
      for (const seq of list) if (board.required[seq] === index) board.required[seq] = index + 1;
    }
    const isCandidate = (seq: number): boolean => {
      if (required.length > 0 && board.required[seq] !== required.length) return false;
      const space = spaceNumbers[seq] ?? 0;
      return space === 0 || spaces.has(space);
    };
    const lengthFactor = (seq: number): number => (lengths[seq] || averageLength) / averageLength;

    const add = (seqs: ArrayLike<number>, idf: number, bit: number, selects: boolean): void => {
      const weight = idf / totalIdf;
      for (let at = 0; at < seqs.length; at += 1) {
        const seq = seqs[at] ?? 0;
        if (score[seq] === 0) {
          if (!selects || !isCandidate(seq)) continue;
          touched.push(seq);
        }
        score[seq] = (score[seq] ?? 0) + weight * (WEIGHTS.bm25 * bm25Share(1, lengthFactor(seq)) + WEIGHTS.coverage);
        found[seq] = (found[seq] ?? 0) | bit;
      }
    };
    const addAgain = (seqs: Matches, idf: number): void => {
      const weight = (idf / totalIdf) * WEIGHTS.bm25;
      for (const seq of seqs) {
        if (score[seq] === 0) continue;
        const factor = lengthFactor(seq);
        score[seq] = (score[seq] ?? 0) + weight * (bm25Share(AGAIN, factor) - bm25Share(1, factor));
      }
    };

    // A memory that has none but the terms that are left cannot be among the best when as many as are wanted score more
    // than those terms together can give (MaxScore, Turtle and Flood 1995).
    let left = totalIdf;
    let isComplete = true;
    add(whole.seqs, whole.idf, 2 ** MOST_WORDS - 1, true);
    const byRarity = [...terms].sort((a, b) => Number(b.selects) - Number(a.selects) || b.idf - a.idf);
    for (const { all, again, idf, place, selects } of byRarity) {
      if (isComplete && selects) {
        const most = (left / totalIdf) * (WEIGHTS.bm25 + WEIGHTS.coverage) + WEIGHTS.phrase;
        isComplete = touched.length < enough || reachedBy(touched, enough, (seq) => score[seq] ?? 0) < most;
      }
      add(all, idf, 2 ** Math.min(place, MOST_WORDS), selects && isComplete);
      addAgain(again, idf);
      if (selects) left -= idf;
    }

    const areToldApart = terms.every(({ place }) => place < MOST_WORDS);
    const isPhrasePossible = (seq: number): boolean =>
      words >= 2 && (!areToldApart || bits(found[seq] ?? 0) + unlistedWords >= words);
    const boundOf = (seq: number): number => (score[seq] ?? 0) + (isPhrasePossible(seq) ? WEIGHTS.phrase : 0);
    const least = Number.isFinite(enough) ? reachedBy(touched, Math.max(enough, MOST_ORDERED), boundOf) : 0;
    const best = least === 0 ? touched : touched.filter((seq) => boundOf(seq) >= least);
    const ranked = { ...inOrder(best, boundOf), isComplete: isComplete && best.length === touched.length };

    for (const seq of touched) {
      score[seq] = 0;
      found[seq] = 0;
    }
    for (const list of required) for (const seq of list) board.required[seq] = 0;
    return ranked;
  };
}
