import type { PluginDefinition } from 'mortise/sdk';
import { createClients } from './clients.js';
import { createProvider } from './create-provider.js';

/** Offers the model adapter `codex-compatible`. */
export default function providerCodex(): PluginDefinition {
  return {
    key: 'provider-codex',
    start(host) {
      const fetch = host.use('fetch');
      const facts = host.facts('provider', 'codex-compatible');
      host.contribute('provider', 'codex-compatible', createProvider(facts, createClients(fetch), fetch));
    },
  };
}
