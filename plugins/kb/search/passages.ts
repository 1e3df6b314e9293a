import { fieldEnd, sentenceEnd, type TokenStream } from '../index/token-stream.js';
import type { Candidate, ScoredTerm } from './candidate.js';
import { ranking } from './ranking.js';

/** The weight of the query's terms in the best window of a few sentences, for the best candidates. */
export function passageValues(
  indexOf: Int32Array,
  terms: readonly ScoredTerm[],
  scored: readonly { readonly candidate: Candidate; readonly total: number }[],
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
