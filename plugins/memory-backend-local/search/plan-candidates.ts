import type { EngineQuery } from '../engine/search-engine.js';

/** A term of the query as the engine knows it. */
export interface PlannedTerm {
  readonly engineTerm: string;
  /** Its range of the query. */
  readonly start: number;
  readonly end: number;
  /** Number of memories that have it. */
  readonly df: number;
  /** Its memories are listed. */
  readonly isListed: boolean;
}

/** Where candidates come from. */
export interface CandidatePlan<Term> {
  /** Terms whose listed memories are candidates. */
  readonly selecting: readonly Term[];
  /** The newest memories that it finds are candidates too. */
  readonly newest: EngineQuery | undefined;
  /** Asked one after the other, newest first and page after page, while there are too few hits. */
  readonly then: readonly EngineQuery[];
}

/** A term in more than this share of the memories does not select candidates while rarer ones find enough. */
const COMMON_SHARE = 0.2;

/**
 * Terms side by side that stand for the whole query, the rarest first: of those that begin together the widest, and of
 * variants of one word (`deploy`, `deploying`) the one that more memories have.
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
 * Plans how the terms of a query select candidates, so that neither the rarest word nor a memory with all of the words
 * is passed over, and the cost stays bounded however common the words are.
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
  const rare = known.filter(({ df }) => df <= documents * COMMON_SHARE);
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
