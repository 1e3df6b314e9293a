import { type PluginDefinition, whenServing } from 'mortise/sdk';
import { createClients } from './clients.js';
import type { Config } from './config.generated.js';
import { createProvider } from './create-provider.js';

/** Offers the model adapter `openai-compatible`. */
export default function providerOpenAi(): PluginDefinition<Config> {
  return {
    key: 'provider-openai',
    start(host) {
      const facts = host.facts('provider', 'openai-compatible');
      const fetch = host.use('fetch');
      const clients = createClients(fetch);
      host.contribute('provider', 'openai-compatible', createProvider(facts, host.config, clients, fetch));
      if (host.config.api_key) whenServing(host, host.use('http'), () => clients.load());
    },
  };
}
