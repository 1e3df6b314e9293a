import type { TransactionOption } from 'mortise/sdk';

/** A memory as the engine indexes it. */
export interface EngineRow {
  readonly seq: number;
  readonly spaceTerm: string;
  /** Distinct engine terms. */
  readonly terms: readonly string[];
}

/** All of `all`, each a choice of terms, in one of the spaces. */
export interface EngineQuery {
  /** Empty for every space. */
  readonly spaceTerms: readonly string[];
  readonly all: readonly (readonly string[])[];
}

/** A term in memories with a number above `after`. */
export interface TermAfter {
  readonly term: string;
  readonly after: number;
}

/** The full-text index of one database: it finds candidates, and says how many memories have a term. */
export interface SearchEngine {
  add(rows: readonly EngineRow[], options: TransactionOption): Promise<void>;
  /** Puts new terms in the place of a memory's old ones. */
  replace(row: EngineRow, options: TransactionOption): Promise<void>;
  /** Takes a memory out. */
  remove(seq: number, options: TransactionOption): Promise<void>;
  /** Number of memories with each term; terms that no memory has may be left out. */
  frequencies(terms: readonly string[]): Promise<ReadonlyMap<string, number>>;
  /** The memories above its number that have each term, in order, at most `limit` for each. */
  matching(terms: readonly TermAfter[], limit: number): Promise<readonly (readonly number[])[]>;
  /** The memories that a query finds below `before`, newest first. Its cost grows with the number returned. */
  newest(query: EngineQuery, before: number, limit: number): Promise<readonly number[]>;
  /** Does a few milliseconds of the work that makes searches cheaper. @returns false when there is none left. */
  tidy(): Promise<boolean>;
}
