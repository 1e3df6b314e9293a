import { expect } from 'chai';
import { type FakeOpenAi, openAi, startFakeOpenAi } from 'mortise/contracts/provider-openai/testing';
import { type ClaudeHost, claudeHost } from './support.js';

const apiKey = 'sk-test-0123456789';

describe('Claude clients while a model of another API is active', () => {
  let upstream: FakeOpenAi;
  let claude: ClaudeHost;
  before(async () => {
    upstream = await startFakeOpenAi({ apiKey });
    claude = await claudeHost(
      {},
      { plugins: ['provider-openai'], env: { OPENAI_API_KEY: apiKey, OPENAI_BASE_URL: upstream.baseUrl } },
    );
    const response = await claude.host.fetch('/models/active', {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ provider_id: 'openai', model: 'gpt-4o-mini' }),
    });
    expect(response.status).to.equal(200);
  });
  after(async () => {
    await claude.stop();
    await upstream.stop();
  });

  for (const stream of [false, true]) {
    it(`run its calls of tools themselves, ${stream ? 'streamed' : 'not streamed'} (A58)`, async () => {
      upstream.clear();
      upstream.answer(openAi.asksFor(['call_1', 'weather', '{"city":"Oslo"}']), openAi.says('12 degrees'));
      const question = { role: 'user' as const, content: 'weather?' };
      const base = {
        model: 'claude-any',
        max_tokens: 64,
        tools: [{ name: 'weather', description: 'd', input_schema: { type: 'object' as const } }],
      };
      const ask = (messages: Parameters<typeof claude.client.messages.stream>[0]['messages']) =>
        stream
          ? claude.client.messages.stream({ ...base, messages }).finalMessage()
          : claude.client.messages.create({ ...base, messages });
      const first = await ask([question]);
      expect(first.stop_reason).to.equal('tool_use');
      expect(first.content).to.deep.equal([
        { type: 'tool_use', id: 'call_1', name: 'weather', input: { city: 'Oslo' } },
      ]);
      expect(upstream.requests).to.have.length(1);
      const second = await ask([
        question,
        { role: 'assistant', content: first.content },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_1', content: '12' }] },
      ]);
      expect(second.stop_reason).to.equal('end_turn');
      expect(second.content).to.deep.equal([{ type: 'text', text: '12 degrees' }]);
      const sent = upstream.requests[1]?.body as { messages: readonly object[] } | undefined;
      expect(sent?.messages.at(-1)).to.deep.equal({ role: 'tool', tool_call_id: 'call_1', content: '12' });
    });
  }
});
