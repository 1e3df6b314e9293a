import { json, streams, streamsFrom, type Upstream, type UpstreamAnswer } from 'mortise/contracts/models/testing';
import { codex, startFakeResponses } from 'mortise/contracts/provider-codex/testing';
import type { GenerateRequest } from 'mortise/sdk';
import { createTestHost, providerContract } from 'mortise/sdk/testing';

// The address is known only once the API listens.
const settings = { api_key: 'sk-contract', base_url: '', max_retries: 0 };

const say = (model: string): GenerateRequest => ({
  model,
  messages: [{ role: 'user', content: 'hello' }],
  stream: true,
  settings,
});

describe('the Codex-compatible provider', () => {
  let upstream: Upstream;

  before(async () => {
    upstream = await startFakeResponses({ apiKey: settings.api_key });
    settings.base_url = upstream.baseUrl;
    upstream.always(({ body }) => answers[(body as GenerateRequest).model] ?? codex.says('Hel', 'lo'));
  });

  after(() => upstream.stop());

  providerContract('it', {
    host: () => createTestHost({ plugins: ['provider-codex'] }),
    key: 'codex-compatible',
    request: say('says'),
    toolRequest: say('calls'),
    slow: say('slow'),
    failing: ['refuses', 'nonsense', 'cut', 'empty'].map(say),
  });
});

/** Answers by the model that is asked. */
const answers: Readonly<Record<string, UpstreamAnswer>> = {
  calls: codex.asksFor(['call_1', 'contract_tool', '{"a":[1, 2]}'], ['call_2', 'contract_tool', '']),
  slow: streamsFrom(async function* ({ leaving }) {
    yield codex.created();
    yield codex.textItem(0, 'first').slice(0, 2).join('');
    await leaving;
  }),
  refuses: codex.fails(401),
  nonsense: json(200, 'no json'),
  cut: streams(codex.created(), ...codex.textItem(0, 'Hel')),
  empty: streams(codex.created(), codex.completed()),
};
