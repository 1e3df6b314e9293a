import type { PluginDefinition } from 'mortise/sdk';
import type { Config } from './config.generated.js';
import { createBackend } from './create-backend.js';

/** Offers the memory backend `openmemory`. */
export default function memoryBackendOpenMemory(): PluginDefinition<Config> {
  return {
    key: 'memory-backend-openmemory',
    register() {},
    start(host) {
      const facts = host.facts('memory-backend', 'openmemory');
      const outside = { fetch: host.use('fetch'), raise: host.emit.bind(host, 'alert') };
      host.contribute('memory-backend', 'openmemory', createBackend(facts, host.config, outside));
    },
  };
}
