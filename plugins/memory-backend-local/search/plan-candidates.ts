import type { EngineQuery } from '../engine/search-engine.js';

/** A term of the query as the engine knows it. */
export interface PlannedTerm {
  readonly term: string;
  /** Its range of the query. */
  readonly start: number;
  readonly end: number;
  /** Number of memories that have it. */
  readonly df: number;
  /** What having it is worth. */
  readonly idf: number;
}

/** Memories to look for, and what one of them is worth for being found there. */
export interface Probe {
  readonly query: EngineQuery;
  readonly weight: number;
}

/** What to ask the engine. */
export interface CandidatePlan {
  /** All memories that each finds are wanted: the sum of what finds a memory says how likely it is among the best. */
  readonly complete: readonly Probe[];
  /** The newest that it finds are wanted too. */
  readonly newest: readonly Probe[];
  /** Asked one after the other, newest first and page after page, while there are too few hits. */
  readonly then: readonly EngineQuery[];
}

/** A term in more than this share of the memories does not select candidates while rarer ones find enough. */
const COMMON_SHARE = 0.2;

/**
 * Matches of all terms that are looked up completely. Each costs 0.2 µs (SQLite 3.54, 100,000 memories), a quarter of a
 * millisecond for a thousand.
 */
export const MOST_LISTED = 4_000;

/** The rarest terms that together have few enough matches to be listed. */
function listable(terms: readonly PlannedTerm[]): readonly PlannedTerm[] {
  const rarest = [...terms].sort((a, b) => a.df - b.df);
  let matches = 0;
  return rarest.filter(({ df }) => {
    matches += df;
    return matches <= MOST_LISTED;
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
  if (known.length === 0) return { complete: [], newest: [], then: [] };
  const must = required.map((term) => [term]);
  const names = (some: readonly PlannedTerm[]) => some.map(({ term }) => term);
  const anyOf = (some: readonly PlannedTerm[]): EngineQuery => ({ spaceTerms, all: [...must, names(some)] });
  const allOf = (some: readonly PlannedTerm[]): EngineQuery => {
    return { spaceTerms, all: [...must, ...names(some).map((name) => [name])] };
  };
  const rare = known.filter(({ df }) => df <= documents * COMMON_SHARE);
  const listed = listable(rare);
  const complete = listed.map((term) => ({ query: anyOf([term]), weight: term.idf }));
  const everything = rare.length < known.length ? [anyOf(known)] : [];
  if (rare.length > 0 && listed.length === rare.length) return { complete, newest: [], then: everything };
  const whole = anchors(known);
  const unlisted = whole.filter((term) => !listed.includes(term));
  const weight = unlisted.reduce((sum, { idf }) => sum + idf, 0);
  return {
    complete,
    newest: whole.length > 1 ? [{ query: allOf(whole), weight }] : [],
    then: [
      ...(whole.length > 2 ? [allOf(whole.slice(0, 2))] : []),
      ...(rare.length > 0 ? [anyOf(rare)] : []),
      ...everything,
    ],
  };
}
