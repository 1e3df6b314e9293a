import type { PluginDefinition } from 'mortise/sdk';
import type { Config } from './config.generated.js';
import { recallMemories } from './recall-memories.js';

/** Memories in the system prompt. */
export default function promptMemory(): PluginDefinition<Config> {
  return {
    key: 'prompt-memory',
    start(host) {
      const { config, points } = host;
      const { projectKey } = host.use('settings');
      host.contribute('prompt-source', 'memory-recall', {
        ...host.facts('prompt-source', 'memory-recall'),
        build: async (request, ctx) =>
          config.enabled ? recallMemories({ points, projectKey, config }, request, ctx) : [],
      });
    },
  };
}
