/** Numbers of memories, in order. */
export type Matches = Uint32Array;

/** What the index knows of a term. */
export interface TermMatches {
  /** Number of memories that have it. */
  readonly df: number;
  /** All of them; absent where they are too many to be listed. */
  readonly all?: Matches;
  /** Those that have it more than once. */
  readonly again?: Matches;
}

/** What is known of the index before terms are looked up. */
export interface Extent {
  readonly last: number;
  readonly documents: number;
}

/** Looks terms up, as {@link engineTerm} writes them: all memories up to the last one are considered. */
export type LookUpTerms = (terms: readonly string[], extent: Extent) => Promise<ReadonlyMap<string, TermMatches>>;

/** A term with more matches is not listed: a thousand cost a quarter of a millisecond (SQLite 3.54, 100,000 memories). */
export const LONGEST_LIST = 4_000;

export const NO_MATCHES: Matches = new Uint32Array();
