import {
  callLimits,
  checkKey,
  forwardRaw,
  isMarker,
  type OpenAnswer,
  parseObject,
  readBody,
  readEvents,
  withinTimeout,
} from 'mortise/contracts/models';
import type { GenerateEvent, GuardedFetch, Provider, ProviderFacts, ProviderSettings } from 'mortise/sdk';
import { AnswerReader } from './answer-reader.js';
import type { Clients, Settings } from './clients.js';
import type { Config } from './config.generated.js';
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

const defaultAddress = 'https://api.openai.com/v1';

/**
 * The settings of one call: those of its provider row override the configuration. A row with its own address or key is
 * another account, which must not receive secrets of the configured one.
 */
function settingsOf(config: Config, settings: ProviderSettings): Settings {
  const row = settings as Partial<Settings>;
  if (row.base_url === undefined && row.api_key === undefined) return { ...config, ...row };
  const { api_key: _, organization: __, project: ___, ...rest } = config;
  const account: Account = { base_url: defaultAddress, headers: {} };
  return { ...rest, ...account, ...row };
}

const endMark = '[DONE]';

/**
 * The events of a streamed answer. The SDK's own stream reader does not report whether the end mark arrived, so an incomplete
 * answer would look complete.
 *
 * @throws provider_invalid_reply, provider_request_failed
 */
async function* readStream(answer: OpenAnswer): AsyncGenerator<GenerateEvent> {
  const reader = new AnswerReader();
  let ended = false;
  for await (const data of readEvents(answer)) {
    ended = data === endMark;
    if (ended) break;
    if (!isMarker(data)) yield* reader.chunk(parseObject(data));
  }
  yield* reader.end(ended);
}

/** The events of an answer in one body. @throws provider_invalid_reply, provider_request_failed */
async function* readWhole(answer: OpenAnswer): AsyncGenerator<GenerateEvent> {
  const reader = new AnswerReader();
  const pieces = reader.body(parseObject(await readBody(answer)));
  const ending = reader.end(true);
  yield* pieces;
  yield* ending;
}
