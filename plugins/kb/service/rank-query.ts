import type { CallOptions } from 'mortise/sdk';
import type { KeywordAnswer, KeywordHit } from '../search/index-search.js';
import type { ReadSearch } from './read-request.js';
import type { Ranked, RerankDeps, Reranker } from './rerank.js';

/** What a query finds, in the order in which it is shown. */
export interface RankedQuery extends Omit<Ranked, 'hits'> {
  readonly answer: KeywordAnswer;
  /** Those of the page, with their ranks. */
  readonly hits: readonly { readonly hit: KeywordHit; readonly rank: number }[];
}

interface QueryScope {
  readonly repos: readonly string[];
  /** A chunk that is scored too, even when it is not a candidate. */
  readonly chunkId?: string;
}

const searchLimitMs = 30_000;

/** Ranks the hits of a query by keywords and, where that is wanted, by vectors. */
export function createRanking({ settings, reader }: Pick<RerankDeps, 'settings' | 'reader'>, reranker: Reranker) {
  return async (read: ReadSearch, scope: QueryScope, options: CallOptions): Promise<RankedQuery> => {
    const { topK, offset } = read;
    const needed = offset + topK;
    const wantsRerank = read.rerank ?? settings.rerank.enabled;
    // The same for every page, so that a hit has one score.
    const depth = Math.min(100, Math.max(settings.rerank.candidateK, topK));
    const range = wantsRerank ? { limit: Math.max(needed, depth), offset: 0 } : { limit: needed, offset };
    const answer = await reader.call('search', [{ ...read.wanted, ...scope, ...range }, settings.search], {
      signal: options.signal,
      timeoutMs: searchLimitMs,
    });
    const ranked = wantsRerank
      ? await reranker.rerank(read.query, answer, depth, options)
      : { hits: answer.hits, mode: 'keyword' as const };
    const page = ranked.hits.slice(offset - range.offset, needed - range.offset);
    return { ...ranked, answer, hits: page.map((hit, index) => ({ hit, rank: offset + index + 1 })) };
  };
}
