import { bm25Share } from 'mortise/contracts/text-analysis';
import type { Corpus } from './corpus.js';
import { bm25Parameters, weights } from './score.js';
import type { Matches } from './term-lists.js';

/** A term of the query whose memories are listed. */
export interface ListedTerm {
  readonly all: Matches;
  readonly again: Matches;
  readonly idf: number;
  /** Position of its word in the query. */
  readonly place: number;
  /** Whether its memories become candidates; other terms only add to the score of candidates. */
  readonly selects: boolean;
}

export interface RankQuery {
  readonly terms: readonly ListedTerm[];
  /** Lists that contain every candidate. */
  readonly required: readonly Matches[];
  /** Memories with all words, and the sum of `idf` of the words that are not listed. */
  readonly whole: { readonly seqs: readonly number[]; readonly idf: number };
  /** The numbers of the searched spaces. */
  readonly spaces: ReadonlySet<number>;
  /** Sum of `idf` of all terms, also those without a list. */
  readonly totalIdf: number;
  /** Number of different words. */
  readonly words: number;
  /** Words without a listed term. */
  readonly unlistedWords: number;
  /** Number of best candidates needed: others may be dropped. */
  readonly enough: number;
}

/** Candidates, likeliest first, and newest first among equals. */
interface Ordered {
  readonly seqs: Uint32Array;
  /** Highest score of each, apart from frequent terms of the memory and terms that are not listed. */
  readonly bounds: Float64Array;
}

export interface Ranked extends Ordered {
  /** True when no candidate was dropped. */
  readonly isComplete: boolean;
}

/** Assumed frequency of a term that occurs more than once: most occur twice. */
const repeatedFrequency = 2;

/** Words that can be distinguished: the bits of a number. */
const maxWords = 31;

/** Working memory per document, allocated once and reset to 0 after each use. */
class Scratch {
  score = new Float64Array();
  /** One bit for each word found. */
  words = new Uint32Array();
  /** Number of required lists that contain the document. */
  required = new Uint8Array();

  grow(last: number): void {
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

/** Candidates that are sorted when not all are needed. */
const minSorted = 500;

/** Ranks memories by their terms and their length, without reading them. */
export type RankMatches = (query: RankQuery, corpus: Corpus) => Ranked;

export function createRanking(): RankMatches {
  const scratch = new Scratch();

  return ({ terms, required, whole, spaces, totalIdf, words, unlistedWords, enough }, corpus) => {
    const lists = [...terms.map(({ all }) => all), ...required];
    scratch.grow(Math.max(corpus.last, whole.seqs[0] ?? 0, ...lists.map((list) => list.at(-1) ?? 0)));
    const { score, words: found } = scratch;
    const { lengths, spaceNumbers, averageLength } = corpus;
    const touched: number[] = [];

    for (const [index, list] of required.entries()) {
      for (const seq of list) if (scratch.required[seq] === index) scratch.required[seq] = index + 1;
    }
    const isCandidate = (seq: number): boolean => {
      if (required.length > 0 && scratch.required[seq] !== required.length) return false;
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
        score[seq] =
          (score[seq] ?? 0) +
          weight * (weights.bm25 * bm25Share(1, lengthFactor(seq), bm25Parameters) + weights.coverage);
        found[seq] = (found[seq] ?? 0) | bit;
      }
    };
    const addAgain = (seqs: Matches, idf: number): void => {
      const weight = (idf / totalIdf) * weights.bm25;
      for (const seq of seqs) {
        if (score[seq] === 0) continue;
        const factor = lengthFactor(seq);
        score[seq] =
          (score[seq] ?? 0) +
          weight * (bm25Share(repeatedFrequency, factor, bm25Parameters) - bm25Share(1, factor, bm25Parameters));
      }
    };

    // A memory with only the remaining terms cannot be among the best once enough candidates score more than those terms
    // can give together (MaxScore, Turtle and Flood 1995).
    let left = totalIdf;
    let isComplete = true;
    add(whole.seqs, whole.idf, 2 ** maxWords - 1, true);
    const byRarity = [...terms].sort((a, b) => Number(b.selects) - Number(a.selects) || b.idf - a.idf);
    for (const { all, again, idf, place, selects } of byRarity) {
      if (isComplete && selects) {
        const maxRemaining = (left / totalIdf) * (weights.bm25 + weights.coverage) + weights.phrase;
        isComplete = touched.length < enough || reachedBy(touched, enough, (seq) => score[seq] ?? 0) < maxRemaining;
      }
      add(all, idf, 2 ** Math.min(place, maxWords), selects && isComplete);
      addAgain(again, idf);
      if (selects) left -= idf;
    }

    const areDistinct = terms.every(({ place }) => place < maxWords);
    const isPhrasePossible = (seq: number): boolean =>
      words >= 2 && (!areDistinct || bits(found[seq] ?? 0) + unlistedWords >= words);
    const boundOf = (seq: number): number => (score[seq] ?? 0) + (isPhrasePossible(seq) ? weights.phrase : 0);
    const minBound = Number.isFinite(enough) ? reachedBy(touched, Math.max(enough, minSorted), boundOf) : 0;
    const best = minBound === 0 ? touched : touched.filter((seq) => boundOf(seq) >= minBound);
    const ranked = { ...inOrder(best, boundOf), isComplete: isComplete && best.length === touched.length };

    for (const seq of touched) {
      score[seq] = 0;
      found[seq] = 0;
    }
    for (const list of required) for (const seq of list) scratch.required[seq] = 0;
    return ranked;
  };
}

/** Resolution of sorted scores. */
const steps = 2 ** 19;

/** Above every `seq`. */
const seqRange = 2 ** 32;

/** Number of bins for scores from 0 to 2. */
const bins = 1_024;

/** The highest bin limit that `count` scores reach; 0 when there are fewer. */
function reachedBy(seqs: readonly number[], count: number, scoreOf: (seq: number) => number): number {
  if (seqs.length < count) return 0;
  const counts = new Uint32Array(bins);
  for (const seq of seqs) {
    const bin = Math.min(bins - 1, Math.floor((scoreOf(seq) * bins) / 2));
    counts[bin] = (counts[bin] ?? 0) + 1;
  }
  let reached = 0;
  for (let bin = bins - 1; bin > 0; bin -= 1) {
    reached += counts[bin] ?? 0;
    if (reached >= count) return (2 * bin) / bins;
  }
  return 0;
}

/** Sorts candidates by one number made of score and `seq`, which avoids comparing objects. */
function inOrder(seqs: readonly number[], boundOf: (seq: number) => number): Ordered {
  const keys = new Float64Array(seqs.length);
  for (let at = 0; at < seqs.length; at += 1) {
    const seq = seqs[at] ?? 0;
    keys[at] = Math.floor(boundOf(seq) * steps) * seqRange + seq;
  }
  keys.sort().reverse();
  const sorted = new Uint32Array(keys.length);
  const bounds = new Float64Array(keys.length);
  for (let at = 0; at < keys.length; at += 1) {
    const key = keys[at] ?? 0;
    const step = Math.floor(key / seqRange);
    sorted[at] = key - step * seqRange;
    bounds[at] = (step + 1) / steps;
  }
  return { seqs: sorted, bounds };
}
