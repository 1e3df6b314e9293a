import { bm25Share } from 'mortise/contracts/text-analysis';
import type { ScoreParts } from '../contract/kb.js';
import { type Field, fieldEnd, fields, fieldWeights, indexById, type TokenStream } from '../index/token-stream.js';
import type { Candidate, CorpusFacts, ScoredTerm } from './candidate.js';
import { clarity, type FeedbackTerm, feedbackTerms, feedbackValues, type TermFacts } from './feedback.js';
import { passageValues } from './passages.js';
import { isSegmented, ranking } from './ranking.js';
import { neighbourValues, phraseValues } from './word-order.js';

/** What one term contributes to one chunk. */
interface TermScore {
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

interface ScoringQuery {
  readonly terms: readonly ScoredTerm[];
  /** Ids of the words of quoted phrases, in order. */
  readonly phrases: readonly (readonly number[])[];
  readonly isStopWord: (term: string) => boolean;
}

/** The scores of candidates, in their order. Depends on all candidates: feedback comes from the best of them. */
interface ScoredCandidates {
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
  const indexOf = indexById(query.terms);
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
      const own = (share * best * (values[index] ?? 0)) / top;
      one.extra[part] += own;
      one.total += own;
    }
  };
  if (query.phrases.length > 0) add('phrase', phraseValues(query.phrases, candidates), ranking.phrase);
  add('coverage', coverageValues(query.terms, scored), ranking.coverage);
  let feedback: readonly FeedbackTerm[] = [];
  if (isLatin && scored.length > 1) {
    feedback = feedbackTerms(scored, corpus, facts, query.isStopWord);
    add('feedback', feedbackValues(feedback, candidates, corpus), ranking.feedback.share * clarity(scored));
  }
  // After feedback: documents that only have the words near one another ranked worse as its source.
  if (isLatin) add('phrase', neighbourValues(indexOf, query.terms, candidates, corpus), ranking.neighbours.share);
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

/** The share of the query's weight that each candidate has, counting each word once. */
function coverageValues(
  terms: readonly ScoredTerm[],
  scored: readonly { readonly terms: readonly TermScore[] }[],
): readonly number[] {
  const all = terms.reduce((sum, { weight, idf }) => sum + weight * idf, 0);
  if (all === 0) return scored.map(() => 0);
  return scored.map((one) => one.terms.reduce((sum, { term }) => sum + term.weight * term.idf, 0) / all);
}
