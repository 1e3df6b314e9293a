import type { EngineQuery } from '../engine/search-engine.js';

/** A term of the query as the engine knows it. */
export interface PlannedTerm {
  readonly term: string;
  /** Its word in the query. */
  readonly place: number;
  /** Number of memories that have it. */
  readonly df: number;
}

/** One way to look for candidates. */
export interface Probe {
  readonly query: EngineQuery;
  readonly order: 'rank' | 'newest';
}

/** What to ask the engine, in order. */
export interface CandidatePlan {
  /** All of these are asked: together they hold the best. */
  readonly first: readonly Probe[];
  /** Asked one after the other, page after page, while there are too few hits. */
  readonly then: readonly Probe[];
}

/** A term in more than this share of the memories does not select candidates while rarer ones find enough. */
const COMMON_SHARE = 0.2;

/**
 * The engine's rank costs 1 µs and more for each match (SQLite 3.54, 100,000 memories: 1,300 matches 2.3 ms, 30,000
 * matches 37 ms), newest first costs only what it returns. So rank is asked for where it must look at no more than this.
 */
const MOST_RANKED = 1_500;

function sum(terms: readonly PlannedTerm[]): number {
  return terms.reduce((total, { df }) => total + df, 0);
}

/** The terms of each word, the rarest word first. A word is as rare as all of its variants together. */
function byWord(terms: readonly PlannedTerm[]): readonly (readonly PlannedTerm[])[] {
  const words = new Map<number, PlannedTerm[]>();
  for (const term of terms) words.set(term.place, [...(words.get(term.place) ?? []), term]);
  return [...words.values()].sort((a, b) => sum(a) - sum(b));
}

/** The rarest terms that together have few enough matches to be ranked. */
function rankable(terms: readonly PlannedTerm[]): readonly PlannedTerm[] {
  const rarest = [...terms].sort((a, b) => a.df - b.df);
  let matches = 0;
  return rarest.filter(({ df }) => {
    matches += df;
    return matches <= MOST_RANKED;
  });
}

/**
 * Plans how the terms of a query select candidates, so that neither the rarest word nor a memory with all of the words
 * is passed over, and the cost stays bounded however common the words are.
 *
 * @param required terms that every candidate must have (those of quoted phrases).
 */
export function planCandidates(
  terms: readonly PlannedTerm[],
  required: readonly string[],
  spaceTerms: readonly string[],
  documents: number,
): CandidatePlan {
  const known = terms.filter(({ df }) => df > 0);
  const must = required.map((term) => [term]);
  const probe = (groups: readonly (readonly PlannedTerm[])[], order: Probe['order']): Probe => ({
    query: { spaceTerms, all: [...must, ...groups.map((group) => group.map(({ term }) => term))] },
    order,
  });
  if (known.length === 0) return { first: [], then: [] };
  const everything = probe([known], 'newest');
  const rare = known.filter(({ df }) => df <= documents * COMMON_SHARE);
  if (rare.length > 0 && sum(rare) <= MOST_RANKED) {
    const then = rare.length < known.length ? [everything] : [];
    return { first: [probe([rare], 'rank')], then: [probe([rare], 'newest'), ...then] };
  }
  const words = byWord(known);
  const ranked = rankable(rare);
  const first = [
    ...(ranked.length > 0 ? [probe([ranked], 'rank')] : []),
    ...(words.length > 1 ? [probe(words, 'newest')] : []),
    ...(words.length > 2 ? [probe(words.slice(0, 2), 'newest')] : []),
  ];
  const then = [...(rare.length > 0 && rare.length < known.length ? [probe([rare], 'newest')] : []), everything];
  return { first, then };
}
