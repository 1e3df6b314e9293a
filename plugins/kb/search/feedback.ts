import { bm25Share, inverseFrequency } from 'mortise/contracts/text-analysis';
import { fieldEnd, fieldWeights, indexById, type TokenStream } from '../index/token-stream.js';
import type { Candidate, CorpusFacts } from './candidate.js';
import { ranking } from './ranking.js';

/** A term of the best passages. */
export interface FeedbackTerm {
  readonly id: number;
  readonly term: string;
  readonly weight: number;
}

/** Names and document frequencies of terms, by id. */
export type TermFacts = (id: number) => { readonly term: string; readonly df: number } | undefined;

/** A candidate with its score so far. */
interface Scored {
  readonly candidate: Candidate;
  readonly total: number;
}

/** How clearly the first candidates differ: feedback from an unclear result list would drift. */
export function clarity(scored: readonly Scored[]): number {
  const totals = scored.map(({ total }) => total).sort((a, b) => b - a);
  const [first = 0, fifth = 0] = [totals[0], totals[Math.min(4, totals.length - 1)]];
  return first === 0 ? 0 : Math.min(1.5, 0.5 + (4 * (first - fifth)) / first);
}

/** The terms by which the best candidates differ from the others, weighted by their scores. */
export function feedbackTerms(
  scored: readonly Scored[],
  corpus: CorpusFacts,
  facts: TermFacts,
  isStopWord: (term: string) => boolean,
): readonly FeedbackTerm[] {
  const { documents, sharpness, terms, commonShare } = ranking.feedback;
  const best = [...scored.entries()]
    .sort(([i, a], [j, b]) => b.total - a.total || i - j)
    .slice(0, documents)
    .map(([, one]) => one);
  const sum = best.reduce((total, one) => total + one.total ** sharpness, 0);
  const weights = new Map<number, number>();
  for (const { candidate, total } of best) {
    const factor = candidate.length / Math.max(corpus.averageLength, 1);
    for (const [id, tf] of contentFrequencies(candidate.stream)) {
      weights.set(id, (weights.get(id) ?? 0) + (total ** sharpness / sum) * bm25Share(tf, factor, ranking.feedback));
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

/** How much of the feedback terms each candidate has. */
export function feedbackValues(
  feedback: readonly FeedbackTerm[],
  candidates: readonly Candidate[],
  corpus: CorpusFacts,
): readonly number[] {
  const indexOf = indexById(feedback);
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
