import type { SearchEngine } from '../engine/search-engine.js';
import type { Corpus } from './corpus.js';
import { newestOf } from './find-candidates.js';
import type { CandidatePlan } from './plan-candidates.js';
import type { ListedTerm, Ranked, RankMatches } from './rank-matches.js';
import { NO_MATCHES } from './term-matches.js';
import type { WeighedQuery, WeighedTerm } from './weigh-terms.js';

export interface LikeliestParts {
  readonly engine: SearchEngine;
  readonly rank: RankMatches;
}

export interface Likeliest {
  readonly ranked: Ranked;
  /** What a candidate may score above its bound: the terms that are not listed. */
  readonly beyond: number;
}

/** Puts the candidates of a plan in order, as far as that can be told without reading them. */
export async function likeliest(
  { engine, rank }: LikeliestParts,
  plan: CandidatePlan<WeighedTerm>,
  { terms, words, required }: WeighedQuery,
  wanted: { readonly spaces: ReadonlySet<number>; readonly enough: number },
  corpus: Corpus,
): Promise<Likeliest> {
  const selecting = new Set(plan.selecting);
  const listed: ListedTerm[] = [];
  const listedPlaces = new Set<number>();
  let totalIdf = 0;
  let unlistedIdf = 0;
  for (const term of terms) {
    const { all, again = NO_MATCHES, idf, place } = term;
    totalIdf += idf;
    if (all === undefined) {
      unlistedIdf += idf;
    } else {
      listedPlaces.add(place);
      listed.push({ all, again, idf, place, selects: selecting.has(term) });
    }
  }
  const whole = { seqs: await newestOf(engine, plan.newest), idf: unlistedIdf };
  const unlistedWords = words - listedPlaces.size;
  const query = { terms: listed, required, whole, totalIdf, words, unlistedWords, ...wanted };
  return { ranked: rank(query, corpus), beyond: unlistedIdf / totalIdf };
}
