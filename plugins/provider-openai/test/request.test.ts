import { expect } from 'chai';
import { openAi } from 'mortise/contracts/provider-openai/testing';
import type { ModelMessage } from 'mortise/sdk';
import { apiKey, failureOf, type OpenAiHost, openAiHost, type say } from './support.js';

describe('requests to the API', () => {
  let api: OpenAiHost;

  async function start(config: object = {}): Promise<void> {
    api = await openAiHost(config);
    api.upstream.always(openAi.says('ok'));
  }

  afterEach(() => api.stop());

  const bodies = (): unknown[] => api.upstream.requests.map(({ body }) => body);

  it('have the API’s form, streamed and not', async () => {
    await start();
    await api.ask();
    await api.ask({ stream: false });
    const messages = [{ role: 'user', content: 'hello' }];
    expect(bodies()).to.deep.equal([
      { model: 'gpt-4o-mini', messages, stream: true, stream_options: { include_usage: true } },
      { model: 'gpt-4o-mini', messages },
    ]);
    const [streamed, whole] = api.upstream.requests.map(({ headers }) => headers);
    expect(streamed).to.include({ authorization: `Bearer ${apiKey}`, accept: 'text/event-stream' });
    expect(streamed?.['content-type']).to.equal('application/json');
    expect(whole?.accept).to.equal('application/json');
    expect(streamed).to.not.have.any.keys('openai-organization', 'openai-project', 'x-stainless-timeout');
  });

  it('contain the whole conversation, with tools and their results', async () => {
    await start({ reasoning_effort: 'low' });
    const call = { id: 'call_1', name: 'look', arguments: '{"at":1}' };
    const messages: ModelMessage[] = [
      { role: 'system', content: 'be kind' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'two' },
          { type: 'text', text: 'lines' },
        ],
      },
      { role: 'assistant', content: '' },
      { role: 'assistant', content: 'I look', toolCalls: [call] },
      { role: 'tool', content: 'seen', toolCallId: 'call_1', name: 'look' },
      { role: 'assistant', content: '', toolCalls: [{ ...call, id: 'call_2' }] },
      { role: 'tool', content: 'seen again', toolCallId: 'call_2' },
    ];
    const parameters = { type: 'object', properties: { at: { type: 'integer' } } };
    await api.ask({ messages, tools: [{ name: 'look', description: 'Looks.', parameters }], maxOutputTokens: 7 });
    const wire = { id: 'call_1', type: 'function', function: { name: 'look', arguments: '{"at":1}' } };
    expect(bodies()).to.deep.equal([
      {
        model: 'gpt-4o-mini',
        messages: [
          { role: 'system', content: 'be kind' },
          { role: 'user', content: 'two\nlines' },
          { role: 'assistant', content: 'I look', tool_calls: [wire] },
          { role: 'tool', tool_call_id: 'call_1', content: 'seen', name: 'look' },
          { role: 'assistant', content: null, tool_calls: [{ ...wire, id: 'call_2' }] },
          { role: 'tool', tool_call_id: 'call_2', content: 'seen again' },
        ],
        tools: [{ type: 'function', function: { name: 'look', description: 'Looks.', parameters } }],
        reasoning_effort: 'low',
        max_tokens: 7,
        stream: true,
        stream_options: { include_usage: true },
      },
    ]);
  });

  it('contain attachments in the API’s own form, or an image by its URL', async () => {
    await start({ attachments: true });
    const own = { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } };
    const content = [{ type: 'text', text: 'what is this' }, { type: 'image', url: 'https://a.example/b.png' }, own];
    await api.ask({ messages: [{ role: 'user', content }] });
    const [body] = bodies() as { messages: { content: unknown }[] }[];
    expect(body?.messages[0]?.content).to.deep.equal([
      { type: 'text', text: 'what is this' },
      { type: 'image_url', image_url: { url: 'https://a.example/b.png' } },
      own,
    ]);
    const unknown = [{ type: 'hologram', data: 'x' }];
    expect(await failureOf(api.ask({ messages: [{ role: 'user', content: unknown }] }))).to.include({
      code: 'provider_not_supported',
      status: 400,
    });
    const facts = api.host.points.list('provider')[0]?.facts;
    expect(facts?.capabilities.attachments).to.equal(true);
  });

  it('have the sampling, the choice of tools and the answer format that were asked for', async () => {
    await start();
    const tools = [{ name: 'look', description: 'Looks.', parameters: { type: 'object' } }];
    const schema = { type: 'object', properties: {} };
    await api.ask({
      tools,
      toolChoice: { name: 'look' },
      parallelToolCalls: false,
      temperature: 0,
      topP: 0.5,
      stop: ['END'],
      reasoningEffort: 'high',
      responseFormat: { type: 'json_schema', name: 'answer', schema, strict: true },
      settings: { reasoning_effort: 'low' },
    });
    await api.ask({ tools, toolChoice: 'required', responseFormat: { type: 'json_object' }, stop: [] });
    const [first, second] = bodies();
    expect(first).to.deep.include({
      tool_choice: { type: 'function', function: { name: 'look' } },
      parallel_tool_calls: false,
      temperature: 0,
      top_p: 0.5,
      stop: ['END'],
      reasoning_effort: 'high',
      response_format: { type: 'json_schema', json_schema: { name: 'answer', schema, strict: true } },
    });
    expect(second).to.deep.include({ tool_choice: 'required', response_format: { type: 'json_object' } });
    expect(second).to.not.have.property('stop');
  });

  it('continue a stored response, except at OpenAI', async () => {
    await start();
    const more = { sessionId: 's1', previousResponseId: 'resp_1', settings: { store: true } };
    await api.ask({ ...more, providerId: 'acme' });
    await api.ask({ ...more, providerId: 'openai' });
    await api.ask({ ...more, providerId: 'acme', settings: {} });
    const stored = { store: true, prompt_cache_key: 's1', previous_response_id: 'resp_1' };
    expect(bodies()[0]).to.deep.include(stored);
    for (const body of bodies().slice(1)) expect(body).to.not.have.any.keys(Object.keys(stored));
  });

  it('contain images, audio and files as data', async () => {
    await start({ attachments: true });
    const content = [
      { type: 'image', data: 'AAAA', mediaType: 'image/png' },
      { type: 'audio', data: 'BBBB', mediaType: 'audio/mpeg' },
      { type: 'file', data: 'CCCC', mediaType: 'application/pdf', name: 'a.pdf' },
    ];
    await api.ask({ messages: [{ role: 'user', content }] });
    const [body] = bodies() as { messages: { content: unknown }[] }[];
    expect(body?.messages[0]?.content).to.deep.equal([
      { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
      { type: 'input_audio', input_audio: { data: 'BBBB', format: 'mp3' } },
      { type: 'file', file: { file_data: 'data:application/pdf;base64,CCCC', filename: 'a.pdf' } },
    ]);
  });

  it('have organization and project, and headers that override those of the SDK', async () => {
    const headers = { 'X-Own': 'yes', Authorization: `Bearer ${apiKey}`, 'User-Agent': 'mine' };
    await start({ organization: 'org-1', project: 'proj-1', headers });
    await api.ask();
    expect(api.upstream.requests[0]?.headers).to.include({
      'openai-organization': 'org-1',
      'openai-project': 'proj-1',
      'x-own': 'yes',
      'user-agent': 'mine',
    });
  });

  it('omit stream_options for an API that refuses it', async () => {
    await start();
    api.upstream.answer(openAi.fails(400, { message: "Unrecognized request argument supplied: 'stream_options'" }));
    const events = await api.ask();
    await api.ask();
    expect(events.map(({ type }) => type)).to.deep.equal(['content_delta', 'done']);
    expect(bodies().map((body) => 'stream_options' in (body as object))).to.deep.equal([true, false, false]);
  });

  it('are not made without a key or a model', async () => {
    await start({ api_key: ' ' });
    expect(await failureOf(api.ask())).to.deep.equal({
      code: 'provider_not_configured',
      status: 400,
      message: 'provider api_key is required',
    });
    expect(await failureOf(api.ask({ settings: { api_key: 'sk-…' } }))).to.include({
      code: 'provider_not_configured',
      message: 'provider api_key has characters that are not allowed in a header',
    });
    expect(await failureOf(api.ask({ model: ' ' }))).to.include({
      code: 'provider_not_configured',
      message: 'model is required for active provider',
    });
    expect(api.upstream.requests).to.deep.equal([]);
  });

  it('go to the address of a provider row, with nothing of the configured account', async () => {
    const config = { base_url: 'http://127.0.0.1:9/v1', api_key: 'sk-configured-secret-000', organization: 'org-1' };
    await start({ ...config, headers: { 'X-Secret': 'of the configured account' } });
    await api.ask({ settings: { base_url: api.upstream.baseUrl, api_key: apiKey } });
    const [request] = api.upstream.requests;
    expect(request?.headers.authorization).to.equal(`Bearer ${apiKey}`);
    expect(JSON.stringify(request?.headers)).to.not.match(/configured|org-1/);
    expect(await failureOf(api.ask({ settings: { base_url: api.upstream.baseUrl } }))).to.include({
      code: 'provider_not_configured',
    });
  });

  it('take nothing from the environment that is not configured', async () => {
    process.env.OPENAI_ORG_ID = 'org-of-somebody';
    process.env.OPENAI_LOG = 'debug';
    const printed: unknown[] = [];
    const { debug } = console;
    console.debug = (...words) => printed.push(words);
    try {
      await start();
      await api.ask();
      expect(printed).to.deep.equal([]);
      expect(api.upstream.requests[0]?.headers).to.not.have.property('openai-organization');
    } finally {
      console.debug = debug;
      delete process.env.OPENAI_ORG_ID;
      delete process.env.OPENAI_LOG;
    }
  });

  it('support texts of any script, also in answers that are cut within a character', async () => {
    await start();
    const text = '你好，世界 👩‍👩‍👧‍👦 naïve';
    const frames = ['你好，', '世界 👩‍👩‍👧‍👦', ' naïve'].map((content) => openAi.chunk({ content }));
    const all = [...frames, openAi.chunk({}, 'stop'), openAi.endMark].join('');
    for (const size of [1, 2, 3, 7, 100]) {
      api.upstream.answer({ ...openAi.streams(), body: openAi.cutBytes(all, size) });
      const events = await api.ask({ messages: [{ role: 'user', content: text }] });
      expect(events.flatMap((event) => (event.type === 'content_delta' ? event.text : []))).to.deep.equal([
        '你好，',
        '世界 👩‍👩‍👧‍👦',
        ' naïve',
      ]);
    }
    expect((bodies()[0] as ReturnType<typeof say>).messages[0]?.content).to.equal(text);
  });
});
