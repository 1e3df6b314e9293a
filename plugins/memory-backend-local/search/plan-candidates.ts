import type { EngineQuery } from '../engine/search-engine.js';

/** A term of the query as the engine knows it. */
export interface PlannedTerm {
  readonly term: string;
  /** Its range of the query. */
  readonly start: number;
  readonly end: number;
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
const MOST_RANKED = 1_000;

function sum(terms: readonly PlannedTerm[]): number {
  return terms.reduce((total, { df }) => total + df, 0);
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
 * Terms side by side that stand for the whole query, the rarest first: of those that begin together the widest, and of
 * variants of one word (`deploy`, `deploying`) the one that more memories have.
 */
function anchors(terms: readonly PlannedTerm[]): readonly PlannedTerm[] {
  const ordered = [...terms].sort((a, b) => a.start - b.start || b.end - a.end || b.df - a.df);
  let covered = 0;
  const chosen = ordered.filter(({ start, end }) => {
    if (start < covered) return false;
    covered = end;
    return true;
  });
  return chosen.sort((a, b) => a.df - b.df);
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
  if (known.length === 0) return { first: [], then: [] };
  const must = required.map((term) => [term]);
  const names = (some: readonly PlannedTerm[]) => some.map(({ term }) => term);
  const anyOf = (some: readonly PlannedTerm[], order: Probe['order']): Probe => {
    return { query: { spaceTerms, all: [...must, names(some)] }, order };
  };
  const allOf = (some: readonly PlannedTerm[]): Probe => {
    return { query: { spaceTerms, all: [...must, ...names(some).map((name) => [name])] }, order: 'newest' };
  };
  const rare = known.filter(({ df }) => df <= documents * COMMON_SHARE);
  const rest = [
    ...(rare.length > 0 ? [anyOf(rare, 'newest')] : []),
    ...(rare.length < known.length ? [anyOf(known, 'newest')] : []),
  ];
  if (rare.length > 0 && sum(rare) <= MOST_RANKED) return { first: [anyOf(rare, 'rank')], then: rest };
  const ranked = rankable(rare);
  const whole = anchors(known);
  const first = [...(ranked.length > 0 ? [anyOf(ranked, 'rank')] : []), ...(whole.length > 1 ? [allOf(whole)] : [])];
  return { first, then: [...(whole.length > 2 ? [allOf(whole.slice(0, 2))] : []), ...rest] };
}
