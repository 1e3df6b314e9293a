import { expect } from 'chai';
import { streams, type Upstream } from 'mortise/contracts/models/testing';
import { anthropic, startFakeAnthropic } from 'mortise/contracts/provider-anthropic/testing';
import type { OpenAI } from 'openai';
import { type OpenAiHost, openAiHost, say } from './support.js';

const { blockStart, delta, event, messageEnd, messageStart } = anthropic;
const apiKey = 'sk-ant-test-0123456789';

describe('OpenAI clients of a Claude model', () => {
  let upstream: Upstream;
  let openai: OpenAiHost;
  before(async () => {
    upstream = await startFakeAnthropic({ apiKey });
    openai = await openAiHost(
      {},
      { plugins: ['provider-anthropic'], env: { ANTHROPIC_API_KEY: apiKey, ANTHROPIC_BASE_URL: upstream.baseUrl } },
    );
  });
  beforeEach(() => upstream.clear());
  after(async () => {
    await openai.stop();
    await upstream.stop();
  });

  const call = (index: number, id: string, ...pieces: readonly string[]) => [
    blockStart(index, { type: 'tool_use', id, name: 'add', input: {} }),
    ...pieces.map((partial_json) => delta(index, { type: 'input_json_delta', partial_json })),
    event('content_block_stop', { index }),
  ];

  const secondSent = () => {
    const body = upstream.requests[1]?.body as { messages: readonly { content: readonly object[] }[] } | undefined;
    return body?.messages ?? [];
  };

  it('run two parallel tools whose arguments arrive in pieces (A72)', async () => {
    upstream.answer(
      streams(
        messageStart(),
        ...call(0, 'toolu_1', '', '{"a', '":1,"b"', ':2}'),
        ...call(1, 'toolu_2', '{"a":3,', '"b":4', '}'),
        ...messageEnd('tool_use', 9),
      ),
      anthropic.says('3 and 7'),
    );
    const runner = openai.client.chat.completions.runTools({
      ...say('add', { model: 'anthropic/claude-new' }),
      stream: true,
      tools: [
        {
          type: 'function',
          function: {
            name: 'add',
            description: 'adds',
            parameters: { type: 'object' },
            parse: JSON.parse,
            function: ({ a, b }: { a: number; b: number }) => a + b,
          },
        },
      ],
    });
    expect(await runner.finalContent()).to.equal('3 and 7');
    const messages = secondSent();
    expect(messages.at(-1)?.content).to.deep.equal([
      { type: 'tool_result', tool_use_id: 'toolu_1', content: '3' },
      { type: 'tool_result', tool_use_id: 'toolu_2', content: '7' },
    ]);
    expect(messages.at(-2)?.content).to.deep.equal([
      { type: 'tool_use', id: 'toolu_1', name: 'add', input: { a: 1, b: 2 } },
      { type: 'tool_use', id: 'toolu_2', name: 'add', input: { a: 3, b: 4 } },
    ]);
  });

  it('get responses with a function call (A77)', async () => {
    upstream.answer(
      anthropic.answers({ text: ['Let me', ' see.'], calls: [['toolu_1', 'add', '{"a":1,"b":2}']] }),
      anthropic.says('The sum', ' is 3.'),
    );
    const tools = [{ type: 'function' as const, name: 'add', parameters: { type: 'object' }, strict: false }];
    const ask = (input: OpenAI.Responses.ResponseInput) =>
      openai.client.responses.stream({ model: 'anthropic/claude-new', input, tools }).finalResponse();
    const question = { role: 'user' as const, content: 'How much is 1 + 2?' };
    const first = await ask([question]);
    expect(first.output_text).to.equal('Let me see.');
    const called = first.output.find((item) => item.type === 'function_call');
    expect(called).to.deep.include({ call_id: 'toolu_1', name: 'add', arguments: '{"a":1,"b":2}' });
    const second = await ask([
      question,
      { type: 'function_call', call_id: 'toolu_1', name: 'add', arguments: '{"a":1,"b":2}' },
      { type: 'function_call_output', call_id: 'toolu_1', output: '3' },
    ]);
    expect([second.status, second.output_text]).to.deep.equal(['completed', 'The sum is 3.']);
    const messages = secondSent();
    expect(messages.at(-1)?.content).to.deep.equal([{ type: 'tool_result', tool_use_id: 'toolu_1', content: '3' }]);
  });
});
