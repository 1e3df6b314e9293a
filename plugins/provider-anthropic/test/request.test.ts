import { expect } from 'chai';
import { json, streams } from 'mortise/contracts/models/testing';
import { anthropic } from 'mortise/contracts/provider-anthropic/testing';
import type { GenerateRequest, ModelMessage } from 'mortise/sdk';
import { type AnthropicHost, anthropicHost, apiKey, failureOf } from './support.js';

const { blockStart, blockStop, delta, fails, messageEnd, messageStart, says, toolBlock } = anthropic;
const mark = { cache_control: { type: 'ephemeral' } };

describe('requests to Anthropic’s API', () => {
  let api: AnthropicHost;

  beforeEach(async () => {
    api = await anthropicHost();
    api.upstream.always(says('ok'));
  });
  afterEach(() => api.stop());

  // biome-ignore lint/suspicious/noExplicitAny: bodies of several forms
  const body = (index = -1): any => api.upstream.requests.at(index)?.body;

  it('have the API’s form and headers', async () => {
    await api.ask({ settings: { headers: { 'X-Own': 'yes', 'anthropic-beta': 'a,b' } } });
    const [request] = api.upstream.requests;
    expect(request?.path).to.equal('/v1/messages');
    expect(request?.headers).to.include({
      'x-api-key': apiKey,
      'anthropic-version': '2023-06-01',
      'content-type': 'application/json',
      accept: 'text/event-stream',
      'x-own': 'yes',
      'anthropic-beta': 'a,b',
    });
    expect(request?.headers).to.not.have.any.keys('authorization', 'x-stainless-timeout');
    expect(body()).to.deep.equal({
      model: 'claude-sonnet-5-5',
      max_tokens: 8_192,
      stream: true,
      messages: [{ role: 'user', content: [{ type: 'text', text: 'hello' }] }],
    });
    await api.ask({ stream: false, settings: { base_url: `${api.upstream.baseUrl}/v1`, max_output_tokens: 64_000 } });
    expect(body()).to.include({ max_tokens: 64_000 }).and.not.have.property('stream');
  });

  it('contain the whole conversation, with cache marks on system text and tools', async () => {
    const messages: ModelMessage[] = [
      { role: 'system', content: 'one' },
      { role: 'system', content: 'two' },
      { role: 'user', content: 'look' },
      { role: 'user', content: 'twice' },
      {
        role: 'assistant',
        content: 'I look',
        toolCalls: [
          { id: 'a', name: 'look', arguments: '{"at":12345678901234567890}' },
          { id: 'b', name: 'look', arguments: 'not json' },
        ],
      },
      { role: 'tool', toolCallId: 'a', content: 'seen' },
      { role: 'tool', toolCallId: 'b', content: '' },
      { role: 'user', content: 'and?' },
      { role: 'assistant', content: '' },
    ];
    const tool = { name: 'look', description: 'Looks.', parameters: { type: 'object', properties: {} } };
    await api.ask({
      messages,
      tools: [tool, { ...tool, name: 'find' }],
      maxOutputTokens: 7,
      stop: ['END'],
      temperature: 2,
    });
    const schema = { description: 'Looks.', input_schema: { type: 'object', properties: {} } };
    expect(body()).to.deep.include({
      max_tokens: 7,
      temperature: 1,
      stop_sequences: ['END'],
      system: [
        { type: 'text', text: 'one' },
        { type: 'text', text: 'two', ...mark },
      ],
      tools: [
        { name: 'look', ...schema },
        { name: 'find', ...schema, ...mark },
      ],
    });
    expect(
      body().messages.map(({ role, content }: { role: string; content: object[] }) => [role, content.length]),
    ).to.deep.equal([
      ['user', 2],
      ['assistant', 3],
      ['user', 3],
    ]);
    expect(body().messages[2].content).to.deep.equal([
      { type: 'tool_result', tool_use_id: 'a', content: 'seen' },
      { type: 'tool_result', tool_use_id: 'b' },
      { type: 'text', text: 'and?' },
    ]);
    expect(body().messages[1].content[2].input).to.deep.equal({ raw_arguments: 'not json' });
    expect(Buffer.from(api.upstream.requests[0]?.bytes ?? []).toString()).to.contain(
      '"input":{"at":12345678901234567890}',
    );
  });

  it('give calls ids that the API accepts, the same for a call and its result', async () => {
    const ids = ['call.1:f', 'call 1', '', 'call_1-A', 'call:1'];
    await api.ask({
      messages: [
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: '', toolCalls: ids.map((id) => ({ id, name: 'f', arguments: '{}' })) },
        ...ids.map((toolCallId) => ({ role: 'tool', toolCallId, content: 'x' }) as const),
      ],
    });
    const [, { content: calls }, { content: results }] = body().messages;
    const sent = calls.map(({ id }: { id: string }) => id);
    expect(results.map(({ tool_use_id: id }: { tool_use_id: string }) => id)).to.deep.equal(sent);
    expect(new Set(sent).size).to.equal(ids.length);
    expect(sent[3]).to.equal('call_1-A');
    for (const id of sent) expect(id).to.match(/^[a-zA-Z0-9_-]+$/);
  });

  it('choose tools as the caller asks', async () => {
    const tools = [{ name: 'look', description: 'Looks.', parameters: {} }];
    const choice = async (more: Partial<GenerateRequest>) => {
      await api.ask({ tools, ...more });
      return body().tool_choice;
    };
    expect(await choice({})).to.equal(undefined);
    expect(await choice({ toolChoice: 'auto' })).to.deep.equal({ type: 'auto' });
    expect(await choice({ toolChoice: 'none' })).to.deep.equal({ type: 'none' });
    expect(await choice({ toolChoice: 'required' })).to.deep.equal({ type: 'any' });
    expect(await choice({ toolChoice: { name: 'look' } })).to.deep.equal({ type: 'tool', name: 'look' });
    expect(await choice({ parallelToolCalls: false })).to.deep.equal({ type: 'auto', disable_parallel_tool_use: true });
    expect(body().tools[0].input_schema).to.deep.equal({ type: 'object' });
  });

  it('think as much as the effort says, within the output', async () => {
    const thinking = async (more: Partial<GenerateRequest>) => {
      await api.ask(more);
      return [body().thinking?.budget_tokens, body().max_tokens, body().temperature];
    };
    expect(await thinking({ settings: { reasoning_effort: 'minimal' }, temperature: 0.5 })).to.deep.equal([
      undefined,
      8_192,
      0.5,
    ]);
    expect(await thinking({ reasoningEffort: 'low', temperature: 0.5 })).to.deep.equal([2_048, 10_240, undefined]);
    const large = { max_output_tokens: 64_000 };
    expect(await thinking({ settings: { ...large, reasoning_effort: 'high' } })).to.deep.equal([
      24_576,
      64_000,
      undefined,
    ]);
    expect(await thinking({ reasoningEffort: 'medium', maxOutputTokens: 4_000 })).to.deep.equal([
      2_976,
      4_000,
      undefined,
    ]);
    expect(await thinking({ reasoningEffort: 'medium', maxOutputTokens: 1_500 })).to.deep.equal([
      undefined,
      1_500,
      undefined,
    ]);
    const tools = [{ name: 'look', description: 'Looks.', parameters: {} }];
    expect((await thinking({ reasoningEffort: 'low', tools, toolChoice: 'required' }))[0]).to.equal(undefined);
  });

  it('let the model decide how much it thinks when it refuses a budget', async () => {
    const message = '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive".';
    api.upstream.answer(fails(400, { type: 'invalid_request_error', message }));
    await api.ask({ reasoningEffort: 'high' });
    await api.ask({ reasoningEffort: 'medium' });
    expect(api.upstream.requests).to.have.length(3);
    expect(body(1)).to.deep.include({ thinking: { type: 'adaptive' }, output_config: { effort: 'high' } });
    expect(body(2)).to.deep.include({ thinking: { type: 'adaptive' }, output_config: { effort: 'medium' } });
  });

  it('send the content of an answer back as it was received', async () => {
    api.upstream.answer(
      streams(
        messageStart(),
        blockStart(0, { type: 'thinking', thinking: '', signature: '', future: { a: 1 } }),
        delta(0, { type: 'thinking_delta', thinking: 'Hm' }),
        delta(0, { type: 'signature_delta', signature: 'c2ln+/==' }),
        blockStop(0),
        blockStart(1, { type: 'redacted_thinking', data: 'AAAA' }),
        blockStop(1),
        ...anthropic.textBlock(2, 'So'),
        ...toolBlock(3, 'toolu_1', 'look', '{"at": 12345678901234567890, "x": 1.0}'),
        ...messageEnd('tool_use'),
      ),
    );
    const events = await api.ask();
    const done = events.at(-1);
    const opaque = done?.type === 'done' ? done.opaque : undefined;
    const call = events.find((event) => event.type === 'tool_calls_complete')?.toolCalls[0];
    expect(call).to.deep.equal({ id: 'toolu_1', name: 'look', arguments: '{"at": 12345678901234567890, "x": 1.0}' });
    const assistant: ModelMessage = { role: 'assistant', content: 'So', ...(opaque === undefined ? {} : { opaque }) };
    await api.ask({
      messages: [
        { role: 'user', content: 'hello' },
        assistant,
        { role: 'tool', toolCallId: 'toolu_1', content: 'seen' },
      ],
    });
    const sent = Buffer.from(api.upstream.requests.at(-1)?.bytes ?? []).toString();
    expect(sent).to.contain(
      '{"role":"assistant","content":[' +
        '{"type":"thinking","thinking":"Hm","signature":"c2ln+/==","future":{"a":1}},' +
        '{"type":"redacted_thinking","data":"AAAA"},' +
        '{"type":"text","text":"So"},' +
        '{"type":"tool_use","id":"toolu_1","name":"look","input":{"at": 12345678901234567890, "x": 1.0}}]}',
    );
    // What another adapter attached is not this one's.
    await api.ask({ messages: [{ ...assistant, opaque: '{"other":[]}' }] });
    expect(body().messages).to.deep.equal([{ role: 'assistant', content: [{ type: 'text', text: 'So' }] }]);
  });

  it('contain images and documents', async () => {
    const content = [
      { type: 'image', data: 'AAAA', mediaType: 'image/png' },
      { type: 'image', url: 'https://a.example/b.png' },
      { type: 'image_url', image_url: { url: 'data:image/webp;base64,BBBB' } },
      { type: 'file', data: 'CCCC', mediaType: 'application/pdf', name: 'c.pdf' },
      { type: 'file', data: Buffer.from('plain ✓').toString('base64'), mediaType: 'text/markdown' },
    ];
    await api.ask({ messages: [{ role: 'user', content }] });
    expect(body().messages[0].content).to.deep.equal([
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
      { type: 'image', source: { type: 'url', url: 'https://a.example/b.png' } },
      { type: 'image', source: { type: 'base64', media_type: 'image/webp', data: 'BBBB' } },
      {
        type: 'document',
        source: { type: 'base64', media_type: 'application/pdf', data: 'CCCC' },
        title: 'c.pdf',
      },
      { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'plain ✓' } },
    ]);
    for (const part of [
      { type: 'audio', data: 'x' },
      { type: 'image', data: 'x', mediaType: 'image/tiff' },
    ]) {
      expect(await failureOf(api.ask({ messages: [{ role: 'user', content: [part] }] }))).to.include({
        code: 'provider_not_supported',
        status: 400,
      });
    }
  });

  it('count tokens at the API', async () => {
    api.upstream.always(json(200, { input_tokens: 42 }));
    const count = () =>
      api.host.points.call('provider', 'anthropic', async (provider, ctx) => provider.countTokens?.(api.say(), ctx));
    expect(await count()).to.equal(42);
    expect(api.upstream.requests[0]?.path).to.equal('/v1/messages/count_tokens');
    expect(body()).to.not.have.any.keys('max_tokens', 'stream');
    api.upstream.always(fails(404, { type: 'not_found_error' }));
    expect(await failureOf(count())).to.deep.include({ code: 'provider_request_failed', status: 502 });
  });

  it('are not made without a key', async () => {
    expect(await failureOf(api.ask({ settings: { api_key: ' ' } }))).to.include({
      code: 'provider_not_configured',
      message: 'provider api_key is required',
    });
    expect(api.upstream.requests).to.deep.equal([]);
  });

  it('are passed on byte for byte in raw exchanges', async () => {
    const sent = '{ "model":"x" , "future": [1e2], "messages":[]}';
    api.upstream.answer(streams('event: ping\n', 'data: {"type": "ping"}\n\n'));
    const events = api.host.points.stream('provider', 'anthropic', (provider, ctx) => {
      if (!provider.raw) throw new Error('it has no raw exchanges');
      const headers = { 'anthropic-version': '2026-01-01', 'anthropic-beta': 'a,b', 'x-api-key': 'of the client' };
      const { settings } = api.say();
      return provider.raw(
        { method: 'POST', path: '/v1/messages?beta=true', headers, body: Buffer.from(sent), settings },
        ctx,
      );
    });
    const parts: string[] = [];
    for await (const event of events)
      parts.push(event.type === 'head' ? `${event.status}` : Buffer.from(event.bytes).toString());
    expect(parts.join('')).to.equal('200event: ping\ndata: {"type": "ping"}\n\n');
    const [request] = api.upstream.requests;
    expect(Buffer.from(request?.bytes ?? []).toString()).to.equal(sent);
    expect(request?.path).to.equal('/v1/messages?beta=true');
    expect(request?.headers).to.include({
      'x-api-key': apiKey,
      'anthropic-version': '2026-01-01',
      'anthropic-beta': 'a,b',
    });
  });
});
