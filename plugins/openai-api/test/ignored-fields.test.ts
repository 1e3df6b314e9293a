import { expect } from 'chai';
import type { Upstream } from 'mortise/contracts/models/testing';
import { anthropic, startFakeAnthropic } from 'mortise/contracts/provider-anthropic/testing';
import { codex, startFakeResponses } from 'mortise/contracts/provider-codex/testing';
import { type OpenAiHost, openAiHost, say } from './support.js';

const apiKey = 'sk-test-0123456789';

describe('fields that the adapter of the model ignores', () => {
  let claude: Upstream;
  let responses: Upstream;
  let openai: OpenAiHost;
  before(async () => {
    claude = await startFakeAnthropic({ apiKey });
    responses = await startFakeResponses({ apiKey });
    openai = await openAiHost({}, { plugins: ['provider-anthropic', 'provider-codex'] });
    for (const [id, { baseUrl }] of [
      ['anthropic', claude],
      ['codex-compatible', responses],
    ] as const) {
      await openai.host.fetch(`/models/${id}/config`, {
        method: 'PUT',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ api_key: apiKey, base_url: baseUrl }),
      });
    }
    claude.always(anthropic.says('ok'));
    responses.always(codex.says('ok'));
  });
  after(async () => {
    await openai.stop();
    await claude.stop();
    await responses.stop();
  });

  const tools = [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }];
  const options = { temperature: 0.5, top_p: 0.9, stop: ['END'], max_tokens: 4_000 };

  const chatRows: readonly (readonly [what: string, model: string, more: object, ignored: string | null])[] = [
    ['sampling beside thinking', 'anthropic/m', { ...options, reasoning_effort: 'low' }, 'temperature, top_p'],
    ['an effort without room', 'anthropic/m', { max_tokens: 1_000, reasoning_effort: 'high' }, 'reasoning_effort'],
    [
      'an effort with a forced tool',
      'anthropic/m',
      { tools, tool_choice: 'required', reasoning_effort: 'low' },
      'reasoning_effort',
    ],
    ['nothing', 'anthropic/m', options, null],
    ['stop sequences', 'codex-compatible/m', options, 'stop'],
    ['options of the demo', 'demo/demo-chat', options, 'max_tokens, temperature, top_p, stop'],
    ['values of another type', 'anthropic/m', { temperature: 'hot', top_p: [] }, 'temperature, top_p'],
    [
      'a choice without tools',
      'anthropic/m',
      { tool_choice: 'none', parallel_tool_calls: false },
      'parallel_tool_calls, tool_choice',
    ],
  ];
  for (const [what, model, more, ignored] of chatRows) {
    it(`are named in chat completions: ${what}`, async () => {
      const response = await openai.chat(say('hi', { model, ...more }));
      expect([response.status, response.headers.get('x-mortise-ignored')]).to.deep.equal([200, ignored]);
    });
  }

  it('are named in responses', async () => {
    const response = await openai.respond({
      model: 'anthropic/m',
      input: 'hi',
      temperature: 0.5,
      max_output_tokens: 4_000,
      reasoning: { effort: 'low', summary: 'auto' },
      text: { verbosity: 'low' },
    });
    expect(response.headers.get('x-mortise-ignored')).to.equal('reasoning.summary, text.verbosity, temperature');
  });
});
