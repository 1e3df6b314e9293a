import type { TokenStream } from '../index/token-stream.js';

/** A term to score, with its weight in the whole repo. */
export interface ScoredTerm {
  readonly id: number;
  readonly term: string;
  readonly class: string;
  /** Range of its word in the query; variants of one word overlap. */
  readonly start: number;
  readonly end: number;
  readonly df: number;
  readonly idf: number;
  readonly weight: number;
  readonly expandedFrom?: string;
}

/** Statistics of the searched chunks. */
export interface CorpusFacts {
  readonly chunks: number;
  readonly averageLength: number;
}

/** A chunk to score. */
export interface Candidate {
  readonly stream: TokenStream;
  readonly length: number;
}
