import { expect } from 'chai';
import { createGate, cuts, json, reset, streams, streamsFrom, type Upstream } from 'mortise/contracts/models/testing';
import { codex, startFakeResponses } from 'mortise/contracts/provider-codex/testing';
import type { GenerateEvent, GenerateRequest, ModelMessage } from 'mortise/sdk';
import { createTestHost, type TestHost } from 'mortise/sdk/testing';

const { asksFor, callItem, completed, created, event, fails, says, textItem } = codex;
const apiKey = 'sk-test-responses';

describe('the responses API', () => {
  let upstream: Upstream;
  let host: TestHost;

  before(async () => {
    upstream = await startFakeResponses({ apiKey });
    host = await createTestHost({ plugins: ['provider-codex'], listen: false });
  });
  afterEach(() => upstream.clear());
  after(async () => {
    await host.stop();
    await upstream.stop();
  });

  const stream = ({ settings, ...more }: Partial<GenerateRequest> = {}) =>
    host.points.stream('provider', 'codex-compatible', (provider, ctx) =>
      provider.generate(
        {
          model: 'gpt-5',
          messages: [{ role: 'user', content: 'hello' }],
          stream: true,
          settings: { api_key: apiKey, base_url: upstream.baseUrl, ...settings },
          ...more,
        },
        ctx,
      ),
    );
  const ask = async (more?: Partial<GenerateRequest>): Promise<GenerateEvent[]> => {
    const events: GenerateEvent[] = [];
    for await (const one of stream(more)) events.push(one);
    return events;
  };
  // biome-ignore lint/suspicious/noExplicitAny: bodies of several forms
  const body = (): any => upstream.requests.at(-1)?.body;
  const failure = (more?: Partial<GenerateRequest>) =>
    ask(more).then(
      () => undefined,
      ({ code, message, details }) => ({ code, message, ...(details ? { details } : {}) }),
    );

  it('is asked in its own form, always for a stream', async () => {
    upstream.always(says('ok'));
    const messages: ModelMessage[] = [
      { role: 'system', content: 'one' },
      { role: 'system', content: 'two' },
      { role: 'user', content: 'look' },
      { role: 'assistant', content: 'I look', toolCalls: [{ id: 'a', name: 'look', arguments: '{"at":1}' }] },
      { role: 'tool', toolCallId: 'a', content: 'seen' },
    ];
    const parameters = { type: 'object', properties: {} };
    await ask({
      messages,
      tools: [{ name: 'look', description: 'Looks.', parameters }],
      stream: false,
      sessionId: 's1',
      settings: { reasoning_effort: 'low' },
    });
    expect(upstream.requests[0]?.headers).to.include({
      authorization: `Bearer ${apiKey}`,
      accept: 'text/event-stream',
    });
    expect(body()).to.deep.equal({
      model: 'gpt-5',
      instructions: 'one\n\ntwo',
      input: [
        { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'look' }] },
        { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'I look' }] },
        { type: 'function_call', call_id: 'a', name: 'look', arguments: '{"at":1}' },
        { type: 'function_call_output', call_id: 'a', output: 'seen' },
      ],
      tools: [{ type: 'function', name: 'look', description: 'Looks.', parameters, strict: false }],
      tool_choice: 'auto',
      parallel_tool_calls: false,
      store: false,
      stream: true,
      prompt_cache_key: 's1',
      reasoning: { effort: 'low' },
    });
    await ask({
      toolChoice: { name: 'look' },
      parallelToolCalls: true,
      maxOutputTokens: 7,
      temperature: 0,
      topP: 0.5,
      responseFormat: { type: 'json_schema', name: 'answer', schema: parameters, strict: true },
    });
    expect(body()).to.deep.include({
      tool_choice: { type: 'function', name: 'look' },
      parallel_tool_calls: true,
      max_output_tokens: 7,
      temperature: 0,
      top_p: 0.5,
      text: { format: { type: 'json_schema', name: 'answer', schema: parameters, strict: true } },
    });
  });

  it('continues a stored response with what follows it', async () => {
    upstream.always(says('ok'));
    const messages: ModelMessage[] = [
      { role: 'system', content: 'be kind' },
      { role: 'user', content: 'one' },
      { role: 'assistant', content: 'two' },
      { role: 'user', content: 'three' },
    ];
    await ask({ messages, previousResponseId: 'resp_1', settings: { store: true } });
    expect(body()).to.deep.include({ store: true, previous_response_id: 'resp_1', instructions: 'be kind' });
    expect(body().input).to.deep.equal([
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'three' }] },
    ]);
    await ask({ messages, previousResponseId: 'resp_1' });
    expect(body()).to.not.have.property('previous_response_id');
    expect(body().input).to.have.length(3);
  });

  it('gets images and files', async () => {
    upstream.always(says('ok'));
    const content = [
      { type: 'image', url: 'https://a.example/b.png' },
      { type: 'file', data: 'CCCC', mediaType: 'application/pdf', name: 'c.pdf' },
    ];
    await ask({ messages: [{ role: 'user', content }] });
    expect(body().input[0].content).to.deep.equal([
      { type: 'input_image', image_url: 'https://a.example/b.png', detail: 'auto' },
      { type: 'input_file', file_data: 'data:application/pdf;base64,CCCC', filename: 'c.pdf' },
    ]);
    expect(await failure({ messages: [{ role: 'user', content: [{ type: 'hologram' }] }] })).to.include({
      code: 'provider_not_supported',
    });
  });

  it('streams text, reasoning and fragments of calls', async () => {
    upstream.answer(
      streams(
        created(),
        event('response.reasoning_summary_text.delta', { output_index: 0, delta: 'Hm' }),
        ...textItem(1, 'Hel', 'lo'),
        ...callItem(2, 'call_a', 'look', '{"at":1}'),
        event('response.output_item.done', {
          output_index: 3,
          item: { type: 'function_call', call_id: '', name: 'wait', arguments: '' },
        }),
        completed({ input: 20, output: 9, cached: 16, reasoning: 4 }),
      ),
    );
    expect(await ask()).to.deep.equal([
      { type: 'reasoning_delta', text: 'Hm' },
      { type: 'content_delta', text: 'Hel' },
      { type: 'content_delta', text: 'lo' },
      { type: 'tool_call_delta', index: 0, id: 'call_a', name: 'look', arguments: '' },
      { type: 'tool_call_delta', index: 0, arguments: '{"at"' },
      { type: 'tool_call_delta', index: 0, arguments: ':1}' },
      { type: 'tool_call_delta', index: 1, name: 'wait', arguments: '' },
      {
        type: 'tool_calls_complete',
        toolCalls: [
          { id: 'call_a', name: 'look', arguments: '{"at":1}' },
          { id: 'call_1', name: 'wait', arguments: '{}' },
        ],
      },
      { type: 'usage', inputTokens: 20, outputTokens: 9, cachedInputTokens: 16, reasoningTokens: 4 },
      { type: 'done', responseId: codex.responseId, stopReason: 'tool_use' },
    ]);
  });

  it('is read as it comes, and by whole items where no delta was sent', async () => {
    const gate = createGate();
    upstream.answer(
      streamsFrom(async function* () {
        yield created();
        yield textItem(0, 'one').slice(0, 2).join('');
        await gate.opened;
        yield event('response.output_text.delta', { output_index: 0, delta: ' two' });
        yield completed();
      }),
    );
    const seen: string[] = [];
    for await (const one of stream()) {
      if (one.type !== 'content_delta') continue;
      seen.push(one.text);
      gate.open();
    }
    expect(seen).to.deep.equal(['one', ' two']);
    const content = [{ type: 'output_text', text: 'whole' }];
    const item = { type: 'message', role: 'assistant', content };
    upstream.answer(
      streams(created(), event('response.output_item.done', { output_index: 0, item }), completed()),
      json(200, codex.response({ status: 'completed', output: [item] })),
      { headers: { 'content-type': 'text/plain' }, body: [created(), ...textItem(0, 'whole'), completed()] },
    );
    for (let round = 0; round < 3; round += 1)
      expect((await ask())[0]).to.deep.equal({ type: 'content_delta', text: 'whole' });
  });

  it('may end early, fail, break or be wrong', async () => {
    const incomplete = codex.response({ status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } });
    upstream.answer(streams(created(), ...textItem(0, 'x'), event('response.incomplete', { response: incomplete })));
    expect((await ask()).at(-1)).to.include({ type: 'done', stopReason: 'max_tokens' });

    const error = { code: 'rate_limit_exceeded', message: 'slow down' };
    upstream.answer(streams(created(), event('response.failed', { response: codex.response({ error }) })));
    expect(await failure()).to.deep.equal({
      code: 'provider_request_failed',
      message: 'provider stream request failed',
      details: { runner_message: 'slow down', cause: 'rate_limit_exceeded' },
    });
    upstream.answer(streams(created(), event('error', { code: 'server_error', message: 'no' })));
    expect(await failure()).to.deep.include({ details: { runner_message: 'no', cause: 'server_error' } });
    upstream.answer(streams(created(), ...textItem(0, 'x')));
    expect(await failure()).to.deep.include({ details: { cause: 'incomplete_stream' } });
    upstream.answer(streams(created(), completed()));
    expect(await failure()).to.include({
      code: 'provider_invalid_reply',
      message: 'provider response has empty content',
    });
    upstream.answer(streams(created(), ...textItem(0, 'x'), reset));
    expect(await failure()).to.include({ code: 'provider_request_failed', message: 'provider stream request failed' });
    upstream.clear();
    upstream.answer(fails(503, {}, { 'retry-after': '0' }), cuts, asksFor(['a', 'look', '{}']));
    expect((await ask()).at(-1)).to.include({ stopReason: 'tool_use' });
    expect(upstream.requests).to.have.length(3);
    expect(await failure({ settings: { api_key: '' } })).to.include({ code: 'provider_not_configured' });
  });

  it('is passed through byte for byte in raw exchanges', async () => {
    upstream.answer(streams('data: {"a": 1}\n\n'));
    const sent = '{ "model":"m", "input": "x" }';
    const settings = { api_key: apiKey, base_url: upstream.baseUrl };
    const events = host.points.stream('provider', 'codex-compatible', (provider, ctx) => {
      if (!provider.raw) throw new Error('it has no raw exchanges');
      return provider.raw(
        { method: 'POST', path: '/v1/responses', headers: {}, body: Buffer.from(sent), settings },
        ctx,
      );
    });
    const parts: string[] = [];
    for await (const one of events)
      parts.push(one.type === 'head' ? `${one.status}` : Buffer.from(one.bytes).toString());
    expect(parts.join('')).to.equal('200data: {"a": 1}\n\n');
    expect(Buffer.from(upstream.requests[0]?.bytes ?? []).toString()).to.equal(sent);
  });
});
