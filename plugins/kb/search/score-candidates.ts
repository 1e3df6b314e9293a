import { bm25Share, inverseFrequency } from 'mortise/contracts/text-analysis';
import type { ScoreParts } from '../contract/kb.js';
import { type Field, fieldEnd, fields, fieldWeights, sentenceEnd, type TokenStream } from '../index/token-stream.js';
import { isSegmented, ranking } from './ranking.js';

/** A term to score, with its weight in the whole repo. */
export interface ScoredTerm {
  readonly id: number;
  readonly term: string;
  readonly class: string;
  /** Range of its word in the query; variants of one word overlap. */
  readonly start: number;
  readonly end: number;
  readonly df: number;
  readonly idf: number;
  readonly weight: number;
  readonly expandedFrom?: string;
}

/** Statistics of the searched chunks. */
export interface CorpusFacts {
  readonly chunks: number;
  readonly averageLength: number;
}

/** A chunk to score. */
export interface Candidate {
  readonly stream: TokenStream;
  readonly length: number;
}

/** A term of the best passages. */
export interface FeedbackTerm {
  readonly id: number;
  readonly term: string;
  readonly weight: number;
}

/** What one term contributes to one chunk. */
export interface TermScore {
  readonly term: ScoredTerm;
  readonly field: Field;
  /** Weighted frequency. */
  readonly tf: number;
  /** Occurrences in the chunk's own lines, or in its heading path when there are none. */
  readonly count: number;
  readonly contribution: number;
}

export interface CandidateScore {
  readonly parts: ScoreParts;
  /** The sum of the parts. */
  readonly text: number;
  readonly terms: readonly TermScore[];
}

/** Frequencies of query terms in a chunk. */
interface Occurrences {
  /** By index of the term. */
  readonly weighted: Float64Array;
  readonly body: Uint32Array;
  readonly heading: Uint32Array;
}

/** Names and document frequencies of terms, by id. */
export type TermFacts = (id: number) => { readonly term: string; readonly df: number } | undefined;

export interface ScoringQuery {
  readonly terms: readonly ScoredTerm[];
  /** Ids of the words of quoted phrases, in order. */
  readonly phrases: readonly (readonly number[])[];
  readonly isStopWord: (term: string) => boolean;
}

/** The scores of candidates, in their order. Depends on all candidates: feedback comes from the best of them. */
export interface ScoredCandidates {
  readonly scores: readonly CandidateScore[];
  readonly feedback: readonly FeedbackTerm[];
}

/**
 * Scores candidates: BM25 over the fields, and further parts as shares of the best BM25 score. A pure function of its
 * arguments; the order of the candidates does not matter.
 */
export function scoreCandidates(
  query: ScoringQuery,
  candidates: readonly Candidate[],
  corpus: CorpusFacts,
  facts: TermFacts,
): ScoredCandidates {
  const indexOf = lookUp(query.terms);
  const scored = candidates.map((candidate) => {
    const found = occurrences(candidate.stream, indexOf, query.terms.length);
    const terms = termScores(query.terms, found, candidate.length / Math.max(corpus.averageLength, 1));
    const bm25 = terms.reduce((sum, { contribution }) => sum + contribution, 0);
    return {
      candidate,
      terms,
      bm25,
      extra: { phrase: 0, coverage: 0, grams: 0, feedback: 0, passage: 0 },
      total: bm25,
    };
  });
  const best = Math.max(0, ...scored.map(({ bm25 }) => bm25));
  const latin = query.terms.filter((term) => !isSegmented(term.class)).length;
  const isLatin = latin * 2 >= query.terms.length;
  const add = (part: keyof (typeof scored)[number]['extra'], values: readonly number[], share: number): void => {
    const top = Math.max(0, ...values);
    if (top === 0 || share === 0) return;
    for (const [index, one] of scored.entries()) {
      one.extra[part] = (share * best * (values[index] ?? 0)) / top;
      one.total += one.extra[part];
    }
  };
  if (query.phrases.length > 0) add('phrase', phraseValues(query.phrases, candidates), ranking.phrase);
  add('coverage', coverageValues(query.terms, scored), ranking.coverage);
  let feedback: readonly FeedbackTerm[] = [];
  if (isLatin && scored.length > 1) {
    feedback = feedbackTerms(scored, corpus, facts, query.isStopWord);
    add('feedback', feedbackValues(feedback, candidates, corpus), ranking.feedback.share * clarity(scored));
  }
  const share = isLatin ? ranking.passage.latin : ranking.passage.segmented;
  add('passage', passageValues(indexOf, query.terms, scored), share);
  return {
    feedback,
    scores: scored.map(({ terms, bm25, extra }) => {
      const parts = { bm25, ...extra };
      const text = parts.bm25 + parts.phrase + parts.coverage + parts.grams + parts.feedback + parts.passage;
      return { parts, text, terms };
    }),
  };
}

/** The index of each term by its id, -1 for others: streams have thousands of values, and a map costs several times as much. */
function lookUp(terms: readonly { readonly id: number }[]): Int32Array {
  const indexOf = new Int32Array(terms.reduce((most, { id }) => Math.max(most, id), 0) + 1).fill(-1);
  for (const [index, { id }] of terms.entries()) indexOf[id] = index;
  return indexOf;
}

function occurrences(stream: TokenStream, indexOf: Int32Array, size: number): Occurrences {
  const found = { weighted: new Float64Array(size), body: new Uint32Array(size), heading: new Uint32Array(size) };
  let field = 0;
  let weight: number = fieldWeights.body;
  for (let at = 0; at < stream.length; at += 1) {
    const value = stream[at] ?? 0;
    if (value <= fieldEnd) {
      if (value === fieldEnd) {
        field += 1;
        weight = field === 1 ? fieldWeights.heading : fieldWeights.path;
      }
      continue;
    }
    const index = indexOf[value >>> 1] ?? -1;
    if (index < 0) continue;
    found.weighted[index] = (found.weighted[index] ?? 0) + weight;
    if (field === 0) found.body[index] = (found.body[index] ?? 0) + 1;
    else if (field === 1) found.heading[index] = (found.heading[index] ?? 0) + 1;
  }
  return found;
}

function termScores(terms: readonly ScoredTerm[], found: Occurrences, lengthFactor: number): readonly TermScore[] {
  const scores: TermScore[] = [];
  for (const [index, term] of terms.entries()) {
    const tf = found.weighted[index] ?? 0;
    if (tf === 0) continue;
    const field = (found.body[index] ?? 0) > 0 ? 0 : (found.heading[index] ?? 0) > 0 ? 1 : 2;
    const count = (found.body[index] ?? 0) || (found.heading[index] ?? 0);
    scores.push({
      term,
      field: fields[field] ?? 'body',
      tf,
      count,
      contribution: contribution(term, tf, lengthFactor),
    });
  }
  return scores;
}

/** The BM25 contribution of a term with a weighted frequency in a chunk of `lengthFactor` times the average length. */
export function contribution(
  term: Pick<ScoredTerm, 'class' | 'weight' | 'idf'>,
  tf: number,
  lengthFactor: number,
): number {
  const parameters = isSegmented(term.class) ? ranking.segmented : ranking.latin;
  return term.weight * term.idf * (parameters.k1 + 1) * bm25Share(tf, lengthFactor, parameters);
}

type Scored = {
  readonly candidate: Candidate;
  readonly terms: readonly TermScore[];
  readonly total: number;
};

/** The share of the query's weight that each candidate has, counting each word once. */
function coverageValues(terms: readonly ScoredTerm[], scored: readonly Scored[]): readonly number[] {
  const all = terms.reduce((sum, { weight, idf }) => sum + weight * idf, 0);
  if (all === 0) return scored.map(() => 0);
  return scored.map((one) => one.terms.reduce((sum, { term }) => sum + term.weight * term.idf, 0) / all);
}

/** How many of the quoted phrases each candidate contains: their words one after another. */
function phraseValues(phrases: readonly (readonly number[])[], candidates: readonly Candidate[]): readonly number[] {
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

/** How clearly the first candidates differ: feedback from an unclear result list would drift. */
function clarity(scored: readonly Scored[]): number {
  const totals = scored.map(({ total }) => total).sort((a, b) => b - a);
  const [first = 0, fifth = 0] = [totals[0], totals[Math.min(4, totals.length - 1)]];
  return first === 0 ? 0 : Math.min(1.5, 0.5 + (4 * (first - fifth)) / first);
}

/** The terms by which the best candidates differ from the others, weighted by their scores. */
function feedbackTerms(
  scored: readonly Scored[],
  corpus: CorpusFacts,
  facts: TermFacts,
  isStopWord: (term: string) => boolean,
): readonly FeedbackTerm[] {
  const { documents, terms, commonShare } = ranking.feedback;
  const best = [...scored.entries()]
    .sort(([i, a], [j, b]) => b.total - a.total || i - j)
    .slice(0, documents)
    .map(([, one]) => one);
  const sum = best.reduce((total, one) => total + one.total, 0);
  const weights = new Map<number, number>();
  for (const { candidate, total } of best) {
    const factor = candidate.length / Math.max(corpus.averageLength, 1);
    for (const [id, tf] of contentFrequencies(candidate.stream)) {
      weights.set(id, (weights.get(id) ?? 0) + (total / sum) * bm25Share(tf, factor, ranking.feedback));
    }
  }
  const found: FeedbackTerm[] = [];
  for (const [id, weight] of weights) {
    const known = facts(id);
    if (known === undefined || known.term.length < 3 || known.df > commonShare * corpus.chunks) continue;
    if (isStopWord(known.term)) continue;
    found.push({ id, term: known.term, weight: weight * inverseFrequency(corpus.chunks, known.df) });
  }
  return found.sort((a, b) => b.weight - a.weight || (a.term < b.term ? -1 : 1)).slice(0, terms);
}

/** Frequencies of the terms of content and headings; the path says nothing about other documents. */
function contentFrequencies(stream: TokenStream): Map<number, number> {
  const counts = new Map<number, number>();
  let weight: number = fieldWeights.body;
  let field = 0;
  for (let at = 0; at < stream.length; at += 1) {
    const value = stream[at] ?? 0;
    if (value > fieldEnd) counts.set(value >>> 1, (counts.get(value >>> 1) ?? 0) + weight);
    else if (value === fieldEnd) {
      field += 1;
      if (field === 2) break;
      weight = fieldWeights.heading;
    }
  }
  return counts;
}

function feedbackValues(
  feedback: readonly FeedbackTerm[],
  candidates: readonly Candidate[],
  corpus: CorpusFacts,
): readonly number[] {
  const indexOf = lookUp(feedback);
  const weighted = new Float64Array(feedback.length);
  const met = new Uint32Array(feedback.length);
  return candidates.map(({ stream, length }) => {
    const factor = length / Math.max(corpus.averageLength, 1);
    let count = 0;
    let field = 0;
    let weight: number = fieldWeights.body;
    for (let at = 0; at < stream.length; at += 1) {
      const value = stream[at] ?? 0;
      if (value <= fieldEnd) {
        if (value === fieldEnd) {
          field += 1;
          weight = field === 1 ? fieldWeights.heading : fieldWeights.path;
        }
        continue;
      }
      const index = indexOf[value >>> 1] ?? -1;
      if (index < 0) continue;
      if (weighted[index] === 0) met[count++] = index;
      weighted[index] = (weighted[index] ?? 0) + weight;
    }
    let sum = 0;
    // In the order of the terms: a sum of floating-point numbers depends on it.
    for (const index of met.subarray(0, count).sort()) {
      sum += (feedback[index]?.weight ?? 0) * bm25Share(weighted[index] ?? 0, factor, ranking.feedback);
      weighted[index] = 0;
    }
    return sum;
  });
}

/** The weight of the query's terms in the best window of a few sentences, for the best candidates. */
function passageValues(
  indexOf: Int32Array,
  terms: readonly ScoredTerm[],
  scored: readonly Scored[],
): readonly number[] {
  const { documents, sentences } = ranking.passage;
  const totals = scored.map(({ total }) => total).sort((a, b) => b - a);
  const least = totals[documents - 1] ?? 0;
  return scored.map(({ candidate, total }) =>
    total < least ? 0 : bestWindow(candidate.stream, indexOf, terms, sentences),
  );
}

function bestWindow(stream: TokenStream, indexOf: Int32Array, terms: readonly ScoredTerm[], size: number): number {
  const recent: number[][] = [[]];
  let best = 0;
  const measure = (): void => {
    const inWindow = new Set(recent.flat());
    let sum = 0;
    for (const index of inWindow) sum += (terms[index]?.weight ?? 0) * (terms[index]?.idf ?? 0);
    best = Math.max(best, sum);
  };
  for (let at = 0; at < stream.length; at += 1) {
    const value = stream[at] ?? 0;
    if (value === fieldEnd) break;
    if (value === sentenceEnd) {
      measure();
      recent.push([]);
      if (recent.length > size) recent.shift();
      continue;
    }
    const index = indexOf[value >>> 1] ?? -1;
    if (index >= 0) recent.at(-1)?.push(index);
  }
  measure();
  return best;
}
