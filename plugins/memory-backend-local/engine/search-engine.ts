import type { TransactionOption } from 'mortise/sdk';

/** The index entry of a memory. */
export interface EngineRow {
  readonly seq: number;
  readonly spaceTerm: string;
  /** Distinct engine terms. */
  readonly terms: readonly string[];
}

/** Matches memories in one of the spaces that have a term of each group in `all`. */
export interface EngineQuery {
  /** Empty for every space. */
  readonly spaceTerms: readonly string[];
  readonly all: readonly (readonly string[])[];
}

/** A term in memories with a `seq` above `after`. */
export interface TermAfter {
  readonly term: string;
  readonly after: number;
}

/** The full-text index of one database: finds candidates and counts the memories with a term. */
export interface SearchEngine {
  add(rows: readonly EngineRow[], options: TransactionOption): Promise<void>;
  /** Replaces the terms of a memory. */
  replace(row: EngineRow, options: TransactionOption): Promise<void>;
  remove(seq: number, options: TransactionOption): Promise<void>;
  /** Number of memories with each term; terms without a memory may be missing. */
  frequencies(terms: readonly string[]): Promise<ReadonlyMap<string, number>>;
  /** The memories with each term, above its `after`, in ascending order, at most `limit` per term. */
  matching(terms: readonly TermAfter[], limit: number): Promise<readonly (readonly number[])[]>;
  /** The matches of a query below `before`, newest first. The cost grows with the number returned. */
  newest(query: EngineQuery, before: number, limit: number): Promise<readonly number[]>;
  /** Merges a part of the index, for a few milliseconds, to make searches faster. @returns false when done. */
  merge(): Promise<boolean>;
}
