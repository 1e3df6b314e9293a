import type { PluginDefinition } from 'mortise/sdk';
import type { Config } from './config.generated.js';
import { findModel, nameModel, requireLibraries } from './find-model.js';
import { type Model, openModel } from './model.js';

/** The embedder `transformers`: a model in a local folder. */
export default function embedderTransformers(): PluginDefinition<Config> {
  let model: Model | undefined;
  return {
    key: 'embedder-transformers',
    async start(host) {
      requireLibraries();
      const files = findModel(host.config);
      const opened = openModel(files);
      model = opened;
      // The first vector gives the dimensions and shows that the model works.
      const { length: dimensions } = await opened.embed('dimensions', host.signal);
      const { query_prefix, document_prefix, max_tokens } = host.config;
      host.contribute('embedder', 'transformers', {
        dimensions,
        model: await nameModel(files, host.config),
        // A token is rarely longer; the model cuts by tokens.
        maxInputCharacters: 8 * max_tokens,
        embed: ({ texts, kind }, { signal }) => {
          const prefix = kind === 'query' ? query_prefix : document_prefix;
          return Promise.all(texts.map((text) => opened.embed(prefix + text, signal)));
        },
      });
    },
    async stop() {
      await model?.close();
    },
  };
}
