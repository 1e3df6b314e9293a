import type { EmptyReason, Explanation, Hit } from '../contract/kb.js';
import type { DocTypeRule } from '../documents/doc-type.js';
import type { ParsedQuery } from './parse-syntax.js';

/** A validated search. */
export interface IndexSearch {
  /** What is analysed; equals `query` without operators. */
  readonly text: string;
  readonly syntax: ParsedQuery | undefined;
  readonly repos: readonly string[];
  /** Hits needed, counted from the best one. */
  readonly limit: number;
  /** Hits to skip at the beginning: those of earlier pages. */
  readonly offset: number;
  readonly scope: string | undefined;
  readonly docTypes: readonly string[];
  readonly tags: readonly string[];
  readonly pathGlob: string | undefined;
  /** Epoch milliseconds, inclusive. */
  readonly modifiedAfter: number | undefined;
  readonly modifiedBefore: number | undefined;
  readonly content: boolean;
  /** Hits have an explanation and a snippet; without them only their place and score. */
  readonly details: boolean;
  /** Epoch milliseconds of the day from which recency counts. */
  readonly asOf: number;
  /** Scores this chunk too, even when it is not a candidate. */
  readonly chunkId?: string;
}

/** The part of the configuration that searches depend on. */
export interface SearchConfig {
  readonly docTypes: readonly DocTypeRule[];
  readonly recency: {
    readonly enabled: boolean;
    readonly amount: number;
    readonly days: number;
    readonly source: 'mtime' | 'git';
  };
  readonly perSource: number;
  readonly candidates: number;
}

/** A hit before rerank; its explanation is always made. */
export interface KeywordHit extends Omit<Hit, 'rank' | 'explanation'> {
  readonly explanation: Explanation;
  /** Hex SHA-256 of the content, to find its vector. */
  readonly contentHash: string;
}

export interface KeywordAnswer {
  readonly hits: readonly KeywordHit[];
  readonly totalCandidates: number;
  readonly reason?: EmptyReason;
  readonly notes: readonly string[];
  readonly suggestions: readonly string[];
  readonly revision: number;
  readonly lastRefresh: number | null;
  /** Of the requested chunk; its rank is the smallest limit with which it is a hit. */
  readonly explained?: { readonly explanation: Explanation; readonly rank: number | null } | null;
}
