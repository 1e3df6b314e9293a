import type { PluginDefinition } from 'mortise/sdk';
import { createClients } from './clients.js';
import { createProvider } from './create-provider.js';

/** Offers the model adapter `anthropic`. */
export default function providerAnthropic(): PluginDefinition {
  return {
    key: 'provider-anthropic',
    start(host) {
      const fetch = host.use('fetch');
      const facts = host.facts('provider', 'anthropic');
      host.contribute('provider', 'anthropic', createProvider(facts, createClients(fetch), fetch));
    },
  };
}
