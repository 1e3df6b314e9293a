import {
  type FakeOpenAi,
  openAi,
  openAiCompatibleContract,
  startFakeOpenAi,
  type UpstreamAnswer,
} from 'mortise/contracts/provider-openai/testing';
import type { GenerateRequest } from 'mortise/sdk';
import { createTestHost, providerContract } from 'mortise/sdk/testing';
import { apiKey, say } from './support.js';

describe('the OpenAI-compatible provider', () => {
  let upstream: FakeOpenAi;

  before(async () => {
    upstream = await startFakeOpenAi({ apiKey });
    upstream.always(({ body }) => answers[(body as GenerateRequest).model] ?? openAi.says('Hel', 'lo'));
  });

  after(() => upstream.stop());

  providerContract('it', {
    host: () =>
      createTestHost({
        plugins: ['provider-openai'],
        config: { 'provider-openai': { base_url: upstream.baseUrl, api_key: apiKey } },
      }),
    key: 'openai-compatible',
    toolRequest: say({ model: 'calls' }),
    slow: say({ model: 'slow' }),
    failing: ['refuses', 'nonsense', 'cut', 'empty'].map((model) => say({ model, settings: { max_retries: 0 } })),
  });

  openAiCompatibleContract('it', {
    host: () => createTestHost({ plugins: ['provider-openai'] }),
    key: 'openai-compatible',
    settings: (baseUrl) => ({ base_url: baseUrl, api_key: 'any' }),
  });
});

/** Answers by the model that is asked. */
const answers: Readonly<Record<string, UpstreamAnswer>> = {
  calls: openAi.asksFor(['call_1', 'contract_tool', '{}']),
  slow: openAi.streamsFrom(async function* ({ leaving }) {
    yield openAi.chunk({ content: 'first' });
    await leaving;
  }),
  refuses: openAi.fails(401),
  nonsense: openAi.json(200, 'no json'),
  cut: openAi.streams(openAi.chunk({ content: 'Hel' })),
  empty: openAi.says(''),
};
