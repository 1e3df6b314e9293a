import type { PluginDefinition } from 'mortise/sdk';
import { dimensions, embedText, model } from './embed-text.js';

/** The embedder `hashed`: deterministic vectors without a model. */
export default function embedderHashed(): PluginDefinition {
  return {
    key: 'embedder-hashed',
    start(host) {
      const analysis = host.use('text-analysis');
      host.contribute('embedder', 'hashed', {
        dimensions,
        model: model(analysis.version),
        maxBatch: 64,
        maxInputCharacters: 20_000,
        embed: async ({ texts }, { signal }) => {
          const vectors: Float32Array[] = [];
          for (const text of texts) {
            // Yields to the event loop between texts, so that a batch neither blocks it nor ignores an abort.
            await new Promise((resolve) => setImmediate(resolve));
            signal.throwIfAborted();
            vectors.push(embedText(analysis, text));
          }
          return vectors;
        },
      });
    },
  };
}
