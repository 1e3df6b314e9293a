import { expect } from 'chai';
import { openAi } from 'mortise/contracts/provider-openai/testing';
import { type OpenAiHost, openAiHost, textOf } from './support.js';

const { chunk, endMark, frame, toolChunk } = openAi;

describe('answers of the API', () => {
  let api: OpenAiHost;

  beforeEach(async () => {
    api = await openAiHost();
  });
  afterEach(() => api.stop());

  it('pass fragments of tool calls and shown reasoning on as they come', async () => {
    api.upstream.answer(
      openAi.streams(
        chunk({ reasoning_content: 'Let me ' }),
        chunk({ reasoning: 'see.' }),
        toolChunk([{ index: 1, id: 'b', function: { name: 'two', arguments: '' } }]),
        toolChunk([{ index: 0, id: 'a', function: { name: 'one', arguments: '{"x"' } }]),
        toolChunk([{ index: 0, function: { arguments: ':1}' } }]),
        toolChunk([{ index: 1, function: { arguments: '{}' } }]),
        chunk({}, 'tool_calls'),
        frame({
          choices: [],
          usage: {
            prompt_tokens: 20,
            completion_tokens: 9,
            prompt_tokens_details: { cached_tokens: 16 },
            completion_tokens_details: { reasoning_tokens: 4 },
          },
        }),
        endMark,
      ),
    );
    expect(await api.ask()).to.deep.equal([
      { type: 'reasoning_delta', text: 'Let me ' },
      { type: 'reasoning_delta', text: 'see.' },
      { type: 'tool_call_delta', index: 0, id: 'b', name: 'two', arguments: '' },
      { type: 'tool_call_delta', index: 1, id: 'a', name: 'one', arguments: '{"x"' },
      { type: 'tool_call_delta', index: 1, arguments: ':1}' },
      { type: 'tool_call_delta', index: 0, arguments: '{}' },
      {
        type: 'tool_calls_complete',
        toolCalls: [
          { id: 'a', name: 'one', arguments: '{"x":1}' },
          { id: 'b', name: 'two', arguments: '{}' },
        ],
      },
      { type: 'usage', inputTokens: 20, outputTokens: 9, cachedInputTokens: 16, reasoningTokens: 4 },
      { type: 'done', responseId: openAi.completionId, stopReason: 'tool_use' },
    ]);
  });

  it('are read by their content, whatever their label is', async () => {
    const plain = { 'content-type': 'text/plain' };
    const body = openAi.completion({ content: 'whole' }, 'stop', { prompt: 1, completion: 1 });
    api.upstream.answer(
      { headers: plain, body: [JSON.stringify(body)] },
      { headers: plain, body: [` \n${JSON.stringify(body)}`] },
      { headers: { 'content-type': 'text/event-stream' }, body: [JSON.stringify(body)] },
      { headers: plain, body: [chunk({ content: 'streamed' }), endMark] },
      { headers: { 'content-type': 'application/json' }, body: [chunk({ content: 'streamed' }), endMark] },
    );
    for (const stream of [true, false, true]) expect(textOf(await api.ask({ stream }))).to.equal('whole');
    for (const stream of [true, false]) expect(textOf(await api.ask({ stream }))).to.equal('streamed');
  });

  it('of two megabytes arrive whole, in one event, in many, or in one body', async () => {
    const text = '漢字 x'.repeat(400_000);
    const body = openAi.completion({ content: text }, 'stop', { prompt: 1, completion: 1 });
    api.upstream.answer(
      openAi.streams(chunk({ content: text }), endMark),
      { ...openAi.streams(), body: openAi.cutBytes(chunk({ content: text }) + endMark, 65_521) },
      openAi.json(200, body),
    );
    for (const stream of [true, true, false]) expect(textOf(await api.ask({ stream })) === text).to.equal(true);
  });

  it('report the stop sequence that ended them', async () => {
    api.upstream.answer(
      openAi.streams(
        frame({ choices: [{ index: 0, delta: { content: 'x' }, finish_reason: 'stop', stop_reason: 'END' }] }),
        endMark,
      ),
    );
    expect((await api.ask()).at(-1)).to.deep.equal({ type: 'done', stopReason: 'stop_sequence', stopSequence: 'END' });
  });
});
