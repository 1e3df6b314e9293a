import type { AuditService } from 'mortise/contracts/logbook';
import { type CallOptions, isCodedError, type Logger } from 'mortise/sdk';
import type { Degraded } from '../contract/kb.js';
import type { EmbedderId } from '../index/embeddings.js';
import type { KeywordAnswer, KeywordHit } from '../search/index-search.js';
import type { Thread } from '../threads/thread.js';
import type { BoundEmbedder } from './embedding.js';
import { createFallbackAudit } from './fallback-audit.js';
import { rerankHits } from './rerank-hits.js';
import type { KbSettings } from './settings.js';

export interface RerankDeps {
  readonly settings: KbSettings;
  /** Searches and other reads. */
  readonly reader: Thread;
  /** Refreshes and other long work. */
  readonly worker: Thread;
  audit(): AuditService | undefined;
  readonly log: Logger;
  /** Counts a search that was answered without the vectors it asked for. */
  countFallback(): void;
}

export interface Ranked {
  readonly hits: readonly KeywordHit[];
  readonly mode: 'keyword' | 'hybrid';
  readonly degraded?: Degraded;
}

/** Reorders hits by vectors where possible; after any failure the keyword order stays. */
export interface Reranker {
  rerank(query: string, answer: KeywordAnswer, depth: number, options: CallOptions): Promise<Ranked>;
  /** Records the fallbacks that are counted but not yet in the audit trail. */
  flush(): Promise<void>;
}

export function createReranker(
  { settings, reader, worker, audit, log, countFallback }: RerankDeps,
  embedder: BoundEmbedder,
): Reranker {
  const fallback = createFallbackAudit(audit, log);
  const queryVectorOf = async (
    query: string,
    id: EmbedderId | undefined,
    options: CallOptions,
  ): Promise<Float32Array> => {
    const known = id && (await reader.call('queryVector', [query, id]));
    if (known !== undefined) return known;
    const [vector = new Float32Array()] = await embedder.embed([query], 'query', options);
    if (id !== undefined) {
      // The answer does not wait for it, and a locked index does not fail it.
      worker
        .call('storeQueryVector', [query, id, vector])
        .catch((error: unknown) => log.debug({ err: error }, 'A query vector was not stored.'));
    }
    return vector;
  };

  const rerank: Reranker['rerank'] = async (query, answer, depth, options) => {
    const { alpha, minCoverage, timeoutMs } = settings.rerank;
    const keyword = { hits: answer.hits, mode: 'keyword' as const };
    if (answer.hits.length === 0) return keyword;
    try {
      const id = embedder.id();
      const vector = await queryVectorOf(query, id, { ...options, timeoutMs });
      if (id === undefined) return keyword;
      const candidates = answer.hits.slice(0, depth);
      const vectors = await reader.call('vectors', [candidates.map(({ contentHash }) => contentHash), id]);
      await fallback.succeeded(id.embedder);
      const coverage = vectors.filter((one) => one !== null).length / candidates.length;
      if (coverage < minCoverage) {
        const message = `Only ${Math.round(coverage * 1_000) / 10}% of the candidates have a vector; keywords alone decide the order.`;
        return { ...keyword, degraded: { code: 'embedding_coverage_low', message, hint: 'mortise kb embed build' } };
      }
      return { hits: rerankHits(answer.hits, vectors, vector, alpha), mode: 'hybrid' };
    } catch (error) {
      if (options.signal?.aborted) throw error;
      countFallback();
      log.warn(
        { err: error, embedder: settings.rerank.embedder },
        'The embedder failed; keywords alone decide the order.',
      );
      await fallback.failed(
        { principal: options.principal, correlationId: options.correlationId },
        settings.rerank.embedder,
      );
      return {
        ...keyword,
        degraded: {
          code: 'embedder_unavailable',
          ...failureOf(error, settings.rerank.embedder, embedder.id() !== undefined),
        },
      };
    }
  };

  return { rerank, flush: () => fallback.flush() };
}

/** What a search reports when the embedder could not be called, or returned no vector. */
function failureOf(error: unknown, embedder: string, isActive: boolean): Pick<Degraded, 'message' | 'hint'> {
  if (!isActive) {
    return {
      message: `The embedder "${embedder}" is not available; keywords alone decide the order.`,
      hint: `mortise plugin enable embedder-${embedder}`,
    };
  }
  const why = isCodedError(error) ? `${error.message.replace(/\.$/, '')} (${error.code})` : 'it failed';
  return {
    message: `The embedder "${embedder}" gave no vector: ${why}; keywords alone decide the order.`,
    hint: `mortise plugin inspect embedder-${embedder}`,
  };
}
