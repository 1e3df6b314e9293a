import type { PluginDefinition } from 'mortise/sdk';
import type { Config } from './config.generated.js';
import { createEmbed } from './request-embeddings.js';

/** The embedder `openai`: any server with `POST /embeddings`. */
export default function embedderOpenai(): PluginDefinition<Config> {
  return {
    key: 'embedder-openai',
    start(host) {
      const { model, dimensions, batch_size: maxBatch, max_input_characters: maxInputCharacters } = host.config;
      const embed = createEmbed(host.use('fetch'), host.config);
      host.contribute('embedder', 'openai', { model, dimensions, maxBatch, maxInputCharacters, embed });
    },
  };
}
