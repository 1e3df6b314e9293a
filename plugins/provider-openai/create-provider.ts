import { callLimits, checkKey, forwardRaw, withinTimeout } from 'mortise/contracts/models';
import type { GuardedFetch, Provider, ProviderFacts, ProviderSettings } from 'mortise/sdk';
import type { Clients, Settings } from './clients.js';
import type { Config } from './config.generated.js';
import { readStream, readWhole } from './read-answer.js';
import { createOpener } from './send-request.js';

/** The adapter for every API that is compatible with OpenAI's chat completions. */
export function createProvider(facts: ProviderFacts, config: Config, clients: Clients, fetch: GuardedFetch): Provider {
  const open = createOpener(clients);
  return {
    ...facts,
    capabilities: { ...facts.capabilities, attachments: config.attachments },
    configured: Boolean(config.api_key?.trim()),
    ...(config.models.length > 0 ? { models: config.models } : {}),
    generate(request, ctx) {
      const settings = settingsOf(config, request.settings);
      return withinTimeout(request, callLimits(settings).timeoutMs, ctx, async function* answer(signal) {
        const found = await open(request, settings, signal);
        yield* found.streams ? readStream(found) : readWhole(found);
      });
    },
    raw(exchange, ctx) {
      const { api_key: apiKey, base_url: baseUrl, headers } = settingsOf(config, exchange.settings);
      const authorization = `Bearer ${checkKey(apiKey)}`;
      return forwardRaw(fetch, exchange, { baseUrl, headers: { authorization, ...headers } }, ctx);
    },
  };
}

/** The settings that belong to one account at one address. */
type Account = Pick<Config, 'api_key' | 'base_url' | 'organization' | 'project' | 'headers'>;

const ownAddress = 'https://api.openai.com/v1';

/**
 * The settings of one call: those of its provider row override the configuration. A row with its own address or key is
 * another account, which must not receive secrets of the configured one.
 */
function settingsOf(config: Config, settings: ProviderSettings): Settings {
  const row = settings as Partial<Settings>;
  if (row.base_url === undefined && row.api_key === undefined) return { ...config, ...row };
  const { api_key: _, organization: __, project: ___, ...rest } = config;
  const account: Account = { base_url: ownAddress, headers: {} };
  return { ...rest, ...account, ...row };
}
