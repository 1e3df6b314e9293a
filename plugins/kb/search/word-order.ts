import { bm25Share } from 'mortise/contracts/text-analysis';
import { fieldEnd, sentenceEnd, type TokenStream } from '../index/token-stream.js';
import type { Candidate, CorpusFacts, ScoredTerm } from './candidate.js';
import { ranking } from './ranking.js';

/** How many of the quoted phrases each candidate contains: their words one after another. */
export function phraseValues(
  phrases: readonly (readonly number[])[],
  candidates: readonly Candidate[],
): readonly number[] {
  return candidates.map(({ stream }) => phrases.filter((phrase) => hasPhrase(stream, phrase)).length);
}

/** Whether the words of a phrase follow one another in a stream; terms that start together are one position. */
export function hasPhrase(stream: TokenStream, phrase: readonly number[]): boolean {
  if (phrase.length === 0) return false;
  // For every position: how many words of the phrase end there.
  let reached = new Set<number>();
  let current = new Set<number>();
  for (let at = 0; at < stream.length; at += 1) {
    const value = stream[at] ?? 0;
    if (value === sentenceEnd) continue;
    if (value === fieldEnd) {
      reached = new Set();
      current = new Set();
      continue;
    }
    if ((value & 1) === 0) {
      reached = current;
      current = new Set();
    }
    const id = value >>> 1;
    for (const [index, word] of phrase.entries()) {
      if (word !== id || (index > 0 && !reached.has(index))) continue;
      if (index + 1 === phrase.length) return true;
      current.add(index + 1);
    }
  }
  return false;
}

/**
 * How near one another each candidate has words that follow one another in the query: two words with nothing in between
 * count 1, with `n` words in between 1 / (n + 1). The frequency of a pair is weighted like that of its more common word.
 */
export function neighbourValues(
  indexOf: Int32Array,
  terms: readonly ScoredTerm[],
  candidates: readonly Candidate[],
  corpus: CorpusFacts,
): readonly number[] {
  const pairs = neighboursOf(terms);
  if (pairs.length === 0) return candidates.map(() => 0);
  const near = new Float64Array(pairs.length);
  return candidates.map(({ stream, length }) => {
    near.fill(0);
    addNear(near, pairs, stream, indexOf, terms.length);
    const factor = length / Math.max(corpus.averageLength, 1);
    return pairs.reduce((sum, { idf }, index) => sum + idf * bm25Share(near[index] ?? 0, factor, ranking.latin), 0);
  });
}

/** Two words of a query, as indexes of their terms. */
interface Pair {
  readonly first: number;
  readonly second: number;
  readonly idf: number;
}

function neighboursOf(terms: readonly ScoredTerm[]): readonly Pair[] {
  const words = [...terms.entries()]
    .filter(([, term]) => term.class === 'stem')
    .sort(([, a], [, b]) => a.start - b.start || a.end - b.end);
  return words.slice(1).flatMap(([second, term], at) => {
    const [first, before] = words[at] ?? [second, term];
    return before.end <= term.start ? [{ first, second, idf: Math.min(before.idf, term.idf) }] : [];
  });
}

/** Adds how near the words of each pair are, in content and headings, in one pass: each word to the last of its partners. */
function addNear(
  near: Float64Array,
  pairs: readonly Pair[],
  stream: TokenStream,
  indexOf: Int32Array,
  terms: number,
): void {
  const { distance } = ranking.neighbours;
  /** Positions count from 1; 0 is no position in this field. */
  const last = new Uint32Array(terms);
  let position = 0;
  let field = 0;
  for (let at = 0; at < stream.length; at += 1) {
    const value = stream[at] ?? 0;
    if (value === sentenceEnd) continue;
    if (value === fieldEnd) {
      field += 1;
      if (field === 2) return;
      last.fill(0);
      continue;
    }
    if ((value & 1) === 0) position += 1;
    const index = indexOf[value >>> 1] ?? -1;
    if (index < 0) continue;
    for (const [number, { first, second }] of pairs.entries()) {
      if (first !== index && second !== index) continue;
      const partner = last[first === index ? second : first] ?? 0;
      const apart = position - partner;
      if (partner > 0 && apart > 0 && apart <= distance) near[number] = (near[number] ?? 0) + 1 / apart;
    }
    last[index] = position;
  }
}
