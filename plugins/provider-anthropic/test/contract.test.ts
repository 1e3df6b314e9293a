import { json, streams, streamsFrom, type Upstream, type UpstreamAnswer } from 'mortise/contracts/models/testing';
import { anthropic, startFakeAnthropic } from 'mortise/contracts/provider-anthropic/testing';
import type { GenerateRequest } from 'mortise/sdk';
import { createTestHost, providerContract } from 'mortise/sdk/testing';

const apiKey = 'sk-ant-contract';
// The address is known only once the API listens.
const settings: { api_key: string; base_url: string; max_retries: number } = {
  api_key: apiKey,
  base_url: '',
  max_retries: 0,
};

const say = (model: string, more: Partial<GenerateRequest> = {}): GenerateRequest => ({
  model,
  messages: [{ role: 'user', content: 'hello' }],
  stream: true,
  settings,
  ...more,
});

describe('the Anthropic provider', () => {
  let upstream: Upstream;

  before(async () => {
    upstream = await startFakeAnthropic({ apiKey });
    settings.base_url = upstream.baseUrl;
    upstream.always(({ path, body }) => {
      if (path.endsWith('/count_tokens')) return json(200, { input_tokens: 12 });
      return answers[(body as GenerateRequest).model] ?? anthropic.says('Hel', 'lo');
    });
  });

  after(() => upstream.stop());

  providerContract('it', {
    host: () => createTestHost({ plugins: ['provider-anthropic'] }),
    key: 'anthropic',
    request: say('says'),
    toolRequest: say('calls'),
    slow: say('slow'),
    failing: ['refuses', 'nonsense', 'cut', 'empty', 'errors'].map((model) => say(model)),
  });
});

/** Answers by the model that is asked. */
const answers: Readonly<Record<string, UpstreamAnswer>> = {
  calls: anthropic.answers({ text: ['Let me look.'], calls: [['toolu_1', 'contract_tool', '{"a":[1, 2]}']] }),
  slow: streamsFrom(async function* ({ leaving }) {
    yield anthropic.messageStart();
    yield anthropic.textBlock(0, 'first').slice(0, 2).join('');
    await leaving;
  }),
  refuses: anthropic.fails(401),
  nonsense: json(200, 'no json'),
  cut: streams(anthropic.messageStart(), ...anthropic.textBlock(0, 'Hel')),
  empty: streams(anthropic.messageStart(), ...anthropic.messageEnd('end_turn')),
  errors: streams(
    anthropic.messageStart(),
    anthropic.event('error', { error: { type: 'overloaded_error', message: 'x' } }),
  ),
};
