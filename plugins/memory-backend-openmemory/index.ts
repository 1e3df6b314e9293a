import type { PluginDefinition } from 'mortise/sdk';
import { createBackend } from './backend.js';
import type { Config } from './config.generated.js';

/** The memory backend `openmemory`. */
export default function memoryBackendOpenMemory(): PluginDefinition<Config> {
  return {
    key: 'memory-backend-openmemory',
    start(host) {
      const facts = host.facts('memory-backend', 'openmemory');
      const raise = host.emit.bind(host, 'alert');
      host.contribute('memory-backend', 'openmemory', createBackend(facts, host.config, host.use('fetch'), raise));
    },
  };
}
