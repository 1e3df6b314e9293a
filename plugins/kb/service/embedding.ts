import { cutInput, type EmbedderFacts, embedderLimits, unitVectors } from 'mortise/contracts/text-analysis';
import { type CallOptions, callOptions, MortiseError, type Points } from 'mortise/sdk';
import type { EmbedderId } from '../index/embeddings.js';

/** The bound embedder. */
export interface BoundEmbedder {
  /** Undefined while it is not active. */
  id(): EmbedderId | undefined;
  /** Unit vectors of texts, in order. @throws MortiseError when it is absent, fails, or gives something else */
  embed(texts: readonly string[], kind: 'query' | 'document', options: CallOptions): Promise<readonly Float32Array[]>;
  /** Texts of one call. */
  readonly batch: number;
}

export function bindEmbedder(points: Points, key: string): BoundEmbedder {
  const facts = (): EmbedderFacts | undefined =>
    points.list('embedder').find((one) => one.key === key && one.active)?.facts;
  return {
    id: () => {
      const known = facts();
      return known && { embedder: key, model: known.model, dimensions: known.dimensions };
    },
    get batch() {
      const known = facts();
      return known === undefined ? 32 : embedderLimits(known).maxBatch;
    },
    embed: async (texts, kind, options) => {
      const known = facts();
      if (known === undefined) {
        throw new MortiseError('embedder_unavailable', `The embedder "${key}" is not active.`, { status: 503 });
      }
      const { maxBatch, maxInputCharacters } = embedderLimits(known);
      const vectors: Float32Array[] = [];
      for (let at = 0; at < texts.length; at += maxBatch) {
        const batch = texts.slice(at, at + maxBatch).map((text) => cutInput(text, maxInputCharacters));
        const made = await points.call(
          'embedder',
          key,
          (embedder, ctx) => embedder.embed({ texts: batch, kind }, ctx),
          {
            ...callOptions(options),
            timeoutMs: options.timeoutMs,
          },
        );
        vectors.push(...unitVectors(made, batch.length, known.dimensions));
      }
      return vectors;
    },
  };
}
