import { forwardRaw, providerError } from 'mortise/contracts/models';
import {
  type CallContext,
  type GenerateEvent,
  type GenerateRequest,
  type GuardedFetch,
  type Provider,
  type ProviderFacts,
  type ProviderSettings,
  startDeadline,
} from 'mortise/sdk';
import { type Clients, checkKey } from './clients.js';
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
    generate: (request, ctx) => generate(request, settingsOf(config, request.settings), open, ctx),
    raw(exchange, ctx) {
      const { api_key: apiKey, base_url: baseUrl, headers } = settingsOf(config, exchange.settings);
      const authorization = `Bearer ${checkKey(apiKey)}`;
      return forwardRaw(fetch, exchange, { baseUrl, headers: { authorization, ...headers } }, ctx);
    },
  };
}

async function* generate(
  request: GenerateRequest,
  settings: Settings,
  open: ReturnType<typeof createOpener>,
  { signal }: CallContext,
): AsyncGenerator<GenerateEvent> {
  if (request.model.trim() === '') {
    throw providerError('provider_not_configured', 'model is required for active provider');
  }
  const deadline = startDeadline(settings.timeout_ms, signal);
  try {
    const answer = await open(request, settings, deadline.signal);
    yield* answer.streams ? readStream(answer) : readWhole(answer);
  } catch (error) {
    signal.throwIfAborted();
    if (!deadline.expired) throw error;
    throw providerError('provider_request_failed', 'provider request timed out', { cause: 'timeout' });
  } finally {
    deadline.close();
  }
}

/** The settings of one call. */
export type Settings = Config & Pick<ProviderSettings, 'store'>;

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
