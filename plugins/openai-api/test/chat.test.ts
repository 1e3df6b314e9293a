import { expect } from 'chai';
import { calls, says } from 'mortise/contracts/models/testing';
import { MortiseError } from 'mortise/sdk';
import { APIError, BadRequestError, NotFoundError, OpenAI } from 'openai';
import { dataOf, type OpenAiHost, openAiHost, say } from './support.js';

/** The error of a refused call of the official client. */
async function refusal(run: Promise<unknown>): Promise<APIError> {
  const error: unknown = await run.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error instanceof APIError) return error;
  throw new Error(`The client threw ${String(error)}.`);
}

describe('POST /v1/chat/completions, translated', () => {
  let openai: OpenAiHost;
  before(async () => {
    openai = await openAiHost();
  });
  after(() => openai.stop());

  it('answers the official client with the demo, and stores nothing (A71)', async () => {
    const chats = await (await openai.host.fetch('/chats')).text();
    const request = openai.client.chat.completions.create({ ...say('hi'), model: 'demo/demo-chat' });
    const { data, response } = await request.withResponse();
    expect(response.headers.get('x-mortise-model')).to.equal('demo/demo-chat');
    expect(data.id).to.match(/^chatcmpl-/);
    expect({ ...data, id: '', created: 0 }).to.deep.equal({
      id: '',
      object: 'chat.completion',
      created: 0,
      model: 'demo/demo-chat',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'Echo: hi', refusal: null },
          finish_reason: 'stop',
          logprobs: null,
        },
      ],
      usage: {
        prompt_tokens: 1,
        completion_tokens: 3,
        total_tokens: 4,
        prompt_tokens_details: { cached_tokens: 0 },
        completion_tokens_details: { reasoning_tokens: 0 },
      },
      system_fingerprint: null,
    });
    expect(await (await openai.host.fetch('/chats')).text()).to.equal(chats);
  });

  it('streams chunks in order, with the usage last and an end mark (A71)', async () => {
    const body = { ...say('hi'), model: 'demo/demo-chat', stream: true, stream_options: { include_usage: true } };
    const chunks = dataOf(await (await openai.chat(body)).text()) as readonly {
      choices: { delta: object; finish_reason: string | null }[];
      usage: { total_tokens: number } | null;
    }[];
    expect(chunks.at(-1)).to.equal('[DONE]');
    const shown = chunks
      .slice(0, -1)
      .map(({ choices, usage }) => [choices[0]?.delta, choices[0]?.finish_reason, usage]);
    expect(shown).to.deep.equal([
      [{ role: 'assistant', content: '', refusal: null }, null, null],
      [{ content: 'Echo: hi' }, null, null],
      [{}, 'stop', null],
      [undefined, undefined, chunks.at(-2)?.usage],
    ]);
    expect(chunks.at(-2)?.usage?.total_tokens).to.equal(4);
    const streamed = openai.client.chat.completions.stream({ ...say('hi'), model: 'demo/demo-chat' });
    expect((await streamed.finalChatCompletion()).choices[0]?.message.content).to.equal('Echo: hi');
  });

  it('runs the tool loop of the official client with two parallel calls (A72)', async () => {
    openai.scripted.answer(
      [
        { type: 'tool_call_delta', index: 0, id: 'call_a', name: 'add', arguments: '{"a":' },
        { type: 'tool_call_delta', index: 1, id: 'call_b', name: 'add', arguments: '{"a":3,' },
        { type: 'tool_call_delta', index: 0, arguments: '1,"b":2}' },
        { type: 'tool_call_delta', index: 1, arguments: '"b":4}' },
        {
          type: 'tool_calls_complete',
          toolCalls: [
            { id: 'call_a', name: 'add', arguments: '{"a":1,"b":2}' },
            { id: 'call_b', name: 'add', arguments: '{"a":3,"b":4}' },
          ],
        },
        { type: 'done', stopReason: 'tool_use' },
      ],
      says('3 and 7'),
    );
    const runner = openai.client.chat.completions.runTools({
      ...say('add'),
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
    expect(openai.scripted.requests.at(-1)?.messages.slice(-2)).to.deep.equal([
      { role: 'tool', toolCallId: 'call_a', content: '3' },
      { role: 'tool', toolCallId: 'call_b', content: '7' },
    ]);
  });

  it('refuses unsupported parameters, with the typed errors of the official client (A74)', async () => {
    const create = (more: object) => openai.client.chat.completions.create({ ...say('hi'), ...more } as never);
    const unknown = await refusal(create({ model: 'nope' }));
    expect(unknown).to.be.instanceOf(NotFoundError);
    expect(unknown).to.include({ code: 'model_not_found', type: 'not_found_error' });
    expect(unknown.message).to.include('The model `nope` does not exist');
    const many = await refusal(create({ n: 2 }));
    expect(many).to.be.instanceOf(BadRequestError);
    expect(many).to.include({ code: 'unsupported_parameter', param: 'n', type: 'invalid_request_error' });
    for (const [param, more] of [
      ['logprobs', { logprobs: true }],
      ['audio', { audio: { voice: 'a', format: 'mp3' } }],
      ['web_search_options', { web_search_options: {} }],
    ] as const) {
      expect(await refusal(create(more))).to.include({ code: 'unsupported_parameter', param });
    }
    const empty = await openai.host.fetch('/v1/chat/completions', { method: 'POST' });
    expect(empty.status).to.equal(400);
    expect(await empty.json()).to.deep.equal({
      error: { message: 'invalid request body', type: 'invalid_request_error', param: null, code: 'invalid_json' },
      request_id: empty.headers.get('x-request-id'),
    });
    const large = await openai.host.fetch('/v1/chat/completions', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ text: 'x'.repeat(40 * 1024 * 1024) }),
    });
    expect(large.status).to.equal(413);
    expect(((await large.json()) as { error: object }).error).to.include({
      type: 'invalid_request_error',
      code: 'payload_too_large',
    });
  });

  it('ends a stream that fails with an error and without an end mark (A75)', async () => {
    openai.scripted.answer(function* () {
      for (const text of ['a', 'b', 'c']) yield { type: 'content_delta', text } as const;
      throw new MortiseError('provider_request_failed', 'provider stream request failed', { status: 502 });
    });
    const data = dataOf(await (await openai.chat(say('hi', { stream: true }))).text());
    expect(data.at(-1)).to.deep.include({
      error: {
        message: 'provider stream request failed',
        type: 'server_error',
        param: null,
        code: 'provider_request_failed',
      },
    });
    const streamed = openai.client.chat.completions.stream({ ...say('hi') });
    expect(await refusal(streamed.finalChatCompletion())).to.include({ code: 'provider_request_failed' });
  });

  it('aborts the provider when the client disconnects after two chunks (A75)', async () => {
    const { promise: aborted, resolve } = Promise.withResolvers<void>();
    openai.scripted.answer(async function* (_, { signal }) {
      for (const text of ['a', 'b']) yield { type: 'content_delta', text } as const;
      await new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          resolve();
          reject(signal.reason as Error);
        });
      });
    });
    const stream = await openai.client.chat.completions.create({ ...say('hi'), stream: true });
    let seen = 0;
    for await (const { choices } of stream) {
      if (choices[0]?.delta.content) seen += 1;
      if (seen === 2) break;
    }
    await aborted;
  });

  it('asks for JSON in the prompt when the provider has no JSON mode, and checks the answer (A76)', async () => {
    const schema = { type: 'object', required: ['a'], properties: { a: { type: 'number' } } };
    const body = say('hi', { response_format: { type: 'json_schema', json_schema: { name: 'n', schema } } });
    const ask = async (...texts: string[]) => {
      openai.scripted.answer(says(...texts));
      const response = await openai.chat(body);
      return { status: response.status, body: (await response.json()) as Record<string, never> };
    };
    const valid = await ask('```json\n{"a"', ':1}\n```');
    expect(valid.body).to.have.nested.property('choices[0].message.content', '{"a":1}');
    const { messages, responseFormat } = openai.scripted.requests.at(-1) ?? {};
    expect(responseFormat).to.equal(undefined);
    expect(messages?.[0]?.role).to.equal('system');
    expect(messages?.[0]?.content).to.include(JSON.stringify(schema));
    const invalid = await ask('{"a":"1"}');
    expect(invalid.status).to.equal(502);
    expect(invalid.body).to.have.nested.property('error.code', 'invalid_model_output');
    expect((await openai.chat({ ...body, response_format: { type: 'json_object' } })).status).to.equal(200);
    expect((await openai.chat({ ...body, stream: true })).status).to.equal(502);
  });

  it('passes on the options of the request', async () => {
    openai.scripted.answer(says('ok'));
    const tool = (name: string) => ({ type: 'function', function: { name, parameters: { type: 'object' } } });
    const response = await openai.chat(
      say('hi', {
        seed: 1,
        frequency_penalty: 1,
        future_field: {},
        max_completion_tokens: 9,
        max_tokens: 5,
        temperature: 0.5,
        top_p: 0.9,
        stop: 'END',
        reasoning_effort: 'low',
        parallel_tool_calls: false,
        tools: [tool('a'), tool('b'), { type: 'custom', custom: { name: 'c' } }],
        tool_choice: {
          type: 'allowed_tools',
          allowed_tools: { mode: 'required', tools: [{ type: 'function', function: { name: 'b' } }] },
        },
      }),
    );
    expect(response.headers.get('x-mortise-ignored')).to.equal('seed, frequency_penalty, future_field, tools.custom');
    expect(openai.scripted.requests.at(-1)).to.deep.include({
      maxOutputTokens: 9,
      temperature: 0.5,
      topP: 0.9,
      stop: ['END'],
      reasoningEffort: 'low',
      parallelToolCalls: false,
      tools: [{ name: 'b', description: '', parameters: { type: 'object' } }],
      toolChoice: 'required',
    });
  });

  it('reads every kind of message, including legacy calls', async () => {
    openai.scripted.answer(calls(['x', 'f', '{}']));
    const messages = [
      { role: 'developer', content: 'be brief' },
      { role: 'user', content: [{ type: 'text', text: 'a' }] },
      { role: 'assistant', content: null, function_call: { name: 'f', arguments: '{"b":1}' } },
      { role: 'function', name: 'f', content: 'c' },
    ];
    await openai.chat({ model: 'scripted/m', messages, functions: [{ name: 'f' }], function_call: { name: 'f' } });
    expect(openai.scripted.requests.at(-1)).to.deep.include({
      messages: [
        { role: 'system', content: 'be brief' },
        { role: 'user', content: 'a' },
        { role: 'assistant', content: '', toolCalls: [{ id: 'call_2', name: 'f', arguments: '{"b":1}' }] },
        { role: 'tool', toolCallId: 'call_2', content: 'c', name: 'f' },
      ],
      toolChoice: { name: 'f' },
    });
  });

  it('refuses attachments for a model without them, and private addresses for any', async () => {
    const image = (url: string) =>
      say('', { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }] });
    const refused = (await (await openai.chat(image('data:image/png;base64,AAAA'))).json()) as { error: object };
    expect(refused.error).to.include({
      message: 'provider does not support attachments',
      param: 'messages.0.content.0',
    });
    const sees = await openAiHost({ attachments: true });
    try {
      sees.scripted.answer(says('ok'));
      expect((await sees.chat(image('data:image/png;base64,AAAA'))).status).to.equal(200);
      expect(sees.scripted.requests.at(-1)?.messages[0]?.content).to.deep.equal([
        { type: 'image', mediaType: 'image/png', data: 'AAAA' },
      ]);
      for (const url of ['https://127.0.0.1:1/a.png', 'http://example.com/a.png', 'https://169.254.169.254/x']) {
        const response = await sees.chat(image(url));
        expect(response.status, url).to.equal(400);
        expect(await response.text()).to.include('the attachment cannot be fetched');
      }
    } finally {
      await sees.stop();
    }
  });

  it('returns 404, 405 and 415 in the shape of the API', async () => {
    const shape = async (path: string, init: RequestInit) => {
      const response = await openai.host.fetch(path, init);
      const { error } = (await response.json()) as { error: { code: string; type: string; param: unknown } };
      return [response.status, error.code, error.type, error.param];
    };
    expect(await shape('/v1/chat/nothing', {})).to.deep.equal([404, 'not_found', 'not_found_error', null]);
    expect(await shape('/v1/responses/resp_1', {})).to.deep.equal([404, 'not_found', 'not_found_error', null]);
    expect(await shape('/v1/chat/completions', {})).to.deep.equal([405, 'method_not_allowed', 'server_error', null]);
    const text = { method: 'POST', headers: { 'content-type': 'text/plain' }, body: 'hi' };
    expect(await shape('/v1/chat/completions', text)).to.deep.equal([
      415,
      'unsupported_media_type',
      'server_error',
      null,
    ]);
    const broken = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{' };
    expect(await shape('/v1/chat/completions', broken)).to.deep.equal([
      400,
      'invalid_json',
      'invalid_request_error',
      null,
    ]);
  });
});

describe('a platform with a key', () => {
  it('refuses OpenAI clients without it, and accepts those that send it', async () => {
    const openai = await openAiHost({}, { env: { MORTISE_API_KEY: 'k-0123456789' } });
    try {
      const body = { ...say('hi'), model: 'demo/demo-chat' };
      expect(await refusal(openai.client.chat.completions.create(body))).to.include({
        status: 401,
        code: 'unauthorized',
        type: 'authentication_error',
      });
      const client = new OpenAI({ apiKey: 'k-0123456789', baseURL: `${openai.host.origin}/v1` });
      expect((await client.chat.completions.create(body)).choices[0]?.message.content).to.equal('Echo: hi');
    } finally {
      await openai.stop();
    }
  });
});
