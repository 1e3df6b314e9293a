import type { PluginDefinition } from 'mortise/sdk';
import type { Config } from './config.generated.js';
import { startKb } from './start-kb.js';

/** The knowledge base: `/kb/*`, `mortise kb …`, the tools `kb_search` and `kb_read`, and the service `kb`. */
export default function kb(): PluginDefinition<Config> {
  return { key: 'kb', start: startKb };
}
