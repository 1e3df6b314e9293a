import type { EngineQuery } from '../engine/search-engine.js';

/** A term of the query with its frequency. */
interface PlannedTerm {
  readonly engineTerm: string;
  /** Its range of the query. */
  readonly start: number;
  readonly end: number;
  /** Number of memories with the term. */
  readonly df: number;
  /** Whether its memories are listed. */
  readonly isListed: boolean;
}

/** The sources of candidates. */
export interface CandidatePlan<Term> {
  /** Terms whose listed memories are candidates. */
  readonly selecting: readonly Term[];
  /** A query whose newest matches are candidates too. */
  readonly newest: EngineQuery | undefined;
  /** Queries that run in sequence, page by page from the newest match on, while there are too few hits. */
  readonly then: readonly EngineQuery[];
}

/** A term in more than this share of the memories selects no candidates while rarer ones find enough. */
const commonShare = 0.2;

/**
 * Adjacent terms that represent the whole query, rarest first: the longest of those that start together, and of the
 * variants of one word (`deploy`, `deploying`) the more frequent one.
 */
function anchors<Term extends PlannedTerm>(terms: readonly Term[]): readonly Term[] {
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
 * Plans how the terms of a query select candidates, so that neither the rarest word nor a memory with all words is
 * missed, at a bounded cost however common the words are.
 *
 * @param required terms that every candidate must have (those of quoted phrases).
 */
export function planCandidates<Term extends PlannedTerm>(
  terms: readonly Term[],
  required: readonly string[],
  spaceTerms: readonly string[],
  documents: number,
): CandidatePlan<Term> {
  const known = terms.filter(({ df }) => df > 0);
  if (known.length === 0) return { selecting: [], newest: undefined, then: [] };
  const must = required.map((term) => [term]);
  const names = (some: readonly PlannedTerm[]) => some.map(({ engineTerm }) => engineTerm);
  const anyOf = (some: readonly PlannedTerm[]): EngineQuery => ({ spaceTerms, all: [...must, names(some)] });
  const allOf = (some: readonly PlannedTerm[]): EngineQuery => {
    return { spaceTerms, all: [...must, ...names(some).map((name) => [name])] };
  };
  const rare = known.filter(({ df }) => df <= documents * commonShare);
  const selecting = rare.filter(({ isListed }) => isListed);
  const everything = rare.length < known.length ? [anyOf(known)] : [];
  if (rare.length > 0 && selecting.length === rare.length) return { selecting, newest: undefined, then: everything };
  const whole = anchors(known);
  return {
    selecting,
    newest: whole.length > 1 ? allOf(whole) : undefined,
    then: [
      ...(whole.length > 2 ? [allOf(whole.slice(0, 2))] : []),
      ...(rare.length > 0 ? [anyOf(rare)] : []),
      ...everything,
    ],
  };
}
