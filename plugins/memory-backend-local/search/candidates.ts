import type { EngineQuery, SearchEngine } from '../engine/search-engine.js';
import type { Corpus } from './corpus.js';
import type { CandidatePlan } from './plan-candidates.js';
import type { WeighedQuery, WeighedTerm } from './query-terms.js';
import type { ListedTerm, Ranked, RankMatches } from './rank-matches.js';
import { noMatches } from './term-lists.js';

/** Matches per page of the engine, and documents read at once: limits memory for long texts. */
const pageSize = 200;

/** Pages per query beyond the likeliest candidates: limits the cost of a filter that matches nothing. */
const maxPages = 100;

interface Likeliest {
  readonly ranked: Ranked;
  /** Score that a candidate can have above its bound: that of terms that are not listed. */
  readonly beyond: number;
}

/** Ranks the candidates of a plan by what is known without reading them. */
export async function likeliest(
  { engine, rank }: { readonly engine: SearchEngine; readonly rank: RankMatches },
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
    const { all, again = noMatches, idf, place } = term;
    totalIdf += idf;
    if (all === undefined) {
      unlistedIdf += idf;
    } else {
      listedPlaces.add(place);
      listed.push({ all, again, idf, place, selects: selecting.has(term) });
    }
  }
  const newest = plan.newest === undefined ? [] : await engine.newest(plan.newest, Number.MAX_SAFE_INTEGER, pageSize);
  const whole = { seqs: newest, idf: unlistedIdf };
  const unlistedWords = words - listedPlaces.size;
  const query = { terms: listed, required, whole, totalIdf, words, unlistedWords, ...wanted };
  return { ranked: rank(query, corpus), beyond: unlistedIdf / totalIdf };
}

/**
 * Further candidates page by page, without duplicates: the rest of the likeliest, then the matches of the queries, newest
 * first. Each page is less relevant than the one before.
 */
export async function* furtherPages(
  engine: SearchEngine,
  queries: readonly EngineQuery[],
  likeliest: Uint32Array,
  from: number,
): AsyncGenerator<readonly number[]> {
  for (let at = from; at < likeliest.length; at += pageSize) yield Array.from(likeliest.subarray(at, at + pageSize));
  const seen = new Set(likeliest);
  for (const query of queries) {
    let before = Number.MAX_SAFE_INTEGER;
    for (let page = 0; page < maxPages; page += 1) {
      const seqs = await engine.newest(query, before, pageSize);
      const fresh = seqs.filter((seq) => !seen.has(seq));
      for (const seq of fresh) seen.add(seq);
      if (fresh.length > 0) yield fresh;
      if (seqs.length < pageSize) break;
      before = Math.min(...seqs);
    }
  }
}
