import { expect } from 'chai';
import { calls, says } from 'mortise/contracts/models/testing';
import { MortiseError } from 'mortise/sdk';
import { dataOf, type OpenAiHost, openAiHost } from './support.js';

/** A response without the values that differ between calls. */
function comparable(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (name, member: unknown) =>
      ['id', 'created_at', 'sequence_number'].includes(name) ? '' : member,
    ),
  );
}

describe('POST /v1/responses, translated', () => {
  let openai: OpenAiHost;
  before(async () => {
    openai = await openAiHost();
  });
  after(() => openai.stop());

  it('answers the official client, streamed and not, with the same response (A77)', async () => {
    for (const model of ['demo/demo-chat', 'scripted/m']) {
      openai.scripted.answer([
        { type: 'reasoning_delta', text: 'hm' },
        ...says('one ', 'two').slice(0, 2),
        { type: 'tool_call_delta', index: 0, id: 'call_1', name: 'f', arguments: '{"a"' },
        { type: 'tool_call_delta', index: 0, arguments: ':1}' },
        { type: 'tool_calls_complete', toolCalls: [{ id: 'call_1', name: 'f', arguments: '{"a":1}' }] },
        { type: 'usage', inputTokens: 5, outputTokens: 3, reasoningTokens: 1 },
        { type: 'done', stopReason: 'tool_use' },
      ]);
      const body = {
        model,
        input: 'hi',
        tools: [{ type: 'function' as const, name: 'f', parameters: {}, strict: false }],
      };
      const plain = await openai.client.responses.create(body);
      const stream = openai.client.responses.stream(body);
      const numbers: number[] = [];
      stream.on('event', ({ sequence_number }) => void numbers.push(sequence_number));
      const final = await stream.finalResponse();
      const { output_parsed: _, ...accumulated } = final;
      expect(comparable({ ...accumulated, output: withoutParsed(accumulated.output) })).to.deep.equal(
        comparable(plain),
      );
      expect(numbers).to.deep.equal(numbers.map((_number, index) => index));
      expect(plain).to.deep.include({ status: 'completed', store: false, object: 'response' });
    }
  });

  it('streams the events of each item in order', async () => {
    openai.scripted.answer([
      { type: 'content_delta', text: 'a' },
      { type: 'content_delta', text: 'b' },
      ...calls(['call_1', 'f', '{}']),
    ]);
    const text = await (await openai.respond({ model: 'scripted/m', input: 'hi', stream: true })).text();
    const types = (dataOf(text) as readonly { type: string }[]).map(({ type }) => type.replace(/^response\./, ''));
    expect(types).to.deep.equal([
      'created',
      'in_progress',
      'output_item.added',
      'content_part.added',
      'output_text.delta',
      'output_text.delta',
      'output_text.done',
      'content_part.done',
      'output_item.done',
      'output_item.added',
      'function_call_arguments.delta',
      'function_call_arguments.done',
      'output_item.done',
      'completed',
    ]);
  });

  it('continues with the outputs of functions', async () => {
    openai.scripted.answer(says('done'));
    const input = [
      { role: 'user', content: [{ type: 'input_text', text: 'hi' }] },
      { type: 'reasoning', id: 'rs_1', summary: [] },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'ok' }] },
      { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' },
      { type: 'function_call', call_id: 'c2', name: 'f', arguments: '{"a":1}' },
      { type: 'function_call_output', call_id: 'c1', output: '1' },
      { type: 'function_call_output', call_id: 'c2', output: [{ type: 'input_text', text: '2' }] },
      { type: 'custom_tool_call', call_id: 'c3' },
    ];
    const response = await openai.respond({
      model: 'scripted/m',
      instructions: 'be brief',
      input,
      include: [],
      store: true,
    });
    expect(response.headers.get('x-mortise-ignored')).to.equal('include, input.custom_tool_call');
    expect(await response.json()).to.deep.include({ store: false, status: 'completed' });
    expect(openai.scripted.requests.at(-1)?.messages).to.deep.equal([
      { role: 'system', content: 'be brief' },
      { role: 'user', content: 'hi' },
      {
        role: 'assistant',
        content: 'ok',
        toolCalls: [
          { id: 'c1', name: 'f', arguments: '{}' },
          { id: 'c2', name: 'f', arguments: '{"a":1}' },
        ],
      },
      { role: 'tool', toolCallId: 'c1', content: '1' },
      { role: 'tool', toolCallId: 'c2', content: '2' },
    ]);
  });

  it('reports incomplete and failed answers', async () => {
    openai.scripted.answer([
      { type: 'content_delta', text: 'a' },
      { type: 'done', stopReason: 'max_tokens' },
    ]);
    const body = { model: 'scripted/m', input: 'hi', max_output_tokens: 1 };
    expect(await (await openai.respond(body)).json()).to.deep.include({
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
    });
    openai.scripted.answer(function* () {
      yield { type: 'content_delta', text: 'a' };
      throw new MortiseError('provider_request_failed', 'provider stream request failed', { status: 502 });
    });
    const data = dataOf(await (await openai.respond({ ...body, stream: true })).text());
    const last = data.at(-1) as { type: string; response: object };
    expect(last.type).to.equal('response.failed');
    expect(last.response).to.deep.include({
      status: 'failed',
      error: { code: 'provider_request_failed', message: 'provider stream request failed' },
    });
  });

  it('refuses references to stored data', async () => {
    for (const [param, value] of [
      ['previous_response_id', 'resp_1'],
      ['prompt', { id: 'pmpt_1' }],
      ['conversation', 'conv_1'],
      ['background', true],
    ] as const) {
      const response = await openai.respond({ model: 'scripted/m', input: 'hi', [param]: value });
      expect(response.status).to.equal(400);
      expect(((await response.json()) as { error: object }).error).to.include({ code: 'unsupported_parameter', param });
    }
    const input = [
      { role: 'user', content: 'hi' },
      { type: 'item_reference', id: 'msg_1' },
    ];
    const response = await openai.respond({ model: 'scripted/m', input });
    expect(response.status).to.equal(400);
    expect(((await response.json()) as { error: object }).error).to.include({
      code: 'unsupported_parameter',
      param: 'input.1',
      message: 'item_reference is not supported',
    });
  });
});

/** The official client adds parsed members to what it accumulates. */
function withoutParsed(output: readonly object[]): unknown {
  return JSON.parse(
    JSON.stringify(output, (name, member: unknown) =>
      ['parsed', 'parsed_arguments'].includes(name) ? undefined : member,
    ),
  );
}

describe('GET /v1/models', () => {
  let openai: OpenAiHost;
  before(async () => {
    openai = await openAiHost();
  });
  after(() => openai.stop());

  it('lists the models in the shape of either API (A79)', async () => {
    const { data } = await openai.client.models.list();
    const demo = data.find(({ id }) => id === 'demo/demo-chat');
    expect(demo).to.deep.include({ object: 'model', owned_by: 'demo' });
    expect(demo?.created).to.be.a('number');
    const response = await openai.host.fetch('/v1/models', { headers: { 'anthropic-version': '2023-06-01' } });
    const claude = (await response.json()) as { data: { id: string }[]; has_more: boolean; first_id: string };
    expect(claude).to.deep.include({ has_more: false, first_id: data[0]?.id, last_id: data.at(-1)?.id });
    expect(claude.data.find(({ id }) => id === 'demo/demo-chat')).to.have.all.keys(
      'type',
      'id',
      'display_name',
      'created_at',
    );
  });

  it('reads one by its id, slash included (A79)', async () => {
    const response = await openai.host.fetch('/v1/models/demo/demo-chat');
    expect(response.status).to.equal(200);
    expect(await response.json()).to.deep.include({ id: 'demo/demo-chat', object: 'model' });
    expect((await openai.client.models.retrieve('demo/demo-chat')).owned_by).to.equal('demo');
    const missing = await openai.host.fetch('/v1/models/nope');
    expect(missing.status).to.equal(404);
    expect(((await missing.json()) as { error: object }).error).to.include({ code: 'model_not_found', param: 'model' });
    const claude = await openai.host.fetch('/v1/models/nope', { headers: { 'anthropic-version': '2023-06-01' } });
    expect(claude.status).to.equal(404);
    expect(await claude.json()).to.deep.include({ type: 'error' });
  });
});
