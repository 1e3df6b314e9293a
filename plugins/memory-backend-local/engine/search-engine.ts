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

/** The full-text index of one database: it finds candidates, and says how many memories have a term. */
export interface SearchEngine {
  add(rows: readonly EngineRow[], options: TransactionOption): Promise<void>;
  /** Puts new terms in the place of a memory's old ones. */
  replace(row: EngineRow, options: TransactionOption): Promise<void>;
  /** Takes a memory out. */
  remove(seq: number, options: TransactionOption): Promise<void>;
  /** Number of memories with each term; terms that no memory has may be left out. */
  frequencies(terms: readonly string[]): Promise<ReadonlyMap<string, number>>;
  /**
   * The memories that each query finds below `before`, newest first, at most `limit` for each. Its cost grows with the
   * number of memories returned.
   */
  newest(queries: readonly EngineQuery[], before: number, limit: number): Promise<readonly (readonly number[])[]>;
  /** Does a few milliseconds of the work that makes searches cheaper. @returns false when there is none left. */
  tidy(): Promise<boolean>;
}
