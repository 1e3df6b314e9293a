import { expect } from 'chai';
import { createGate, type FakeOpenAi, openAi, startFakeOpenAi } from 'mortise/contracts/provider-openai/testing';

describe('the scripted API of chat completions', () => {
  let api: FakeOpenAi;

  afterEach(() => api.stop());

  const ask = (body: object, init: RequestInit = {}) =>
    fetch(`${api.baseUrl}/chat/completions`, { method: 'POST', body: JSON.stringify(body), ...init });

  it('streams like the API, with usage on request', async () => {
    api = await startFakeOpenAi();
    api.always(openAi.says('Hel', 'lo'));
    const plain = await ask({ stream: true });
    expect(plain.headers.get('content-type')).to.equal('text/event-stream; charset=utf-8');
    const frames = (await plain.text()).split('\n\n');
    expect(frames.slice(-2)).to.deep.equal(['data: [DONE]', '']);
    const chunks = frames.slice(0, -2).map((frame) => JSON.parse(frame.slice('data: '.length)));
    expect(chunks.map(({ choices: [{ delta, finish_reason }] }) => [delta, finish_reason])).to.deep.equal([
      [{ role: 'assistant', content: '', refusal: null }, null],
      [{ content: 'Hel' }, null],
      [{ content: 'lo' }, null],
      [{}, 'stop'],
    ]);
    expect(chunks[0]).to.include({ id: openAi.completionId, object: 'chat.completion.chunk' });
    expect(chunks[0]).to.not.have.property('usage');
    const streamed = await (await ask({ stream: true, stream_options: { include_usage: true } })).text();
    expect(streamed.split('\n\n').at(-3)).to.match(/"choices":\[\],"usage":\{"prompt_tokens":9,"completion_tokens":3/);
    const whole = (await (await ask({})).json()) as { object: string; choices: { message: { content: string } }[] };
    expect([whole.object, whole.choices[0]?.message.content]).to.deep.equal(['chat.completion', 'Hello']);
  });

  it('cuts tool calls into pieces like the API', async () => {
    api = await startFakeOpenAi();
    api.always(openAi.asksFor(['call_1', 'echo', '{"text":"ping"}']));
    const calls = (await (await ask({ stream: true })).text())
      .split('\n\n')
      .filter((frame) => frame.includes('tool_calls":['))
      .map((frame) => JSON.parse(frame.slice('data: '.length)).choices[0].delta.tool_calls[0]);
    expect(calls).to.deep.equal([
      { index: 0, id: 'call_1', type: 'function', function: { name: 'echo', arguments: '' } },
      { index: 0, function: { arguments: '{"tex' } },
      { index: 0, function: { arguments: 't":"p' } },
      { index: 0, function: { arguments: 'ing"}' } },
    ]);
  });

  it('answers in the order of its script, and with an error beyond it', async () => {
    api = await startFakeOpenAi({ apiKey: 'k' });
    const headers = { authorization: 'Bearer k' };
    api.answer(openAi.fails(429, { code: 'slow_down' }, { 'retry-after': '3' }), openAi.says('a'));
    const refused = await ask({}, { headers });
    expect([refused.status, refused.headers.get('retry-after')]).to.deep.equal([429, '3']);
    expect(await refused.json()).to.deep.equal({
      error: { message: 'scripted', type: 'invalid_request_error', param: null, code: 'slow_down' },
    });
    expect((await ask({}, { headers })).status).to.equal(200);
    expect((await ask({}, { headers })).status).to.equal(500);
    expect((await ask({})).status).to.equal(401);
    expect((await fetch(`${api.baseUrl}/models`, { headers })).status).to.equal(404);
    expect(api.requests).to.have.length(3);
  });

  it('sends each piece separately when the script says so, and cuts the connection', async () => {
    api = await startFakeOpenAi();
    const gate = createGate();
    api.answer(
      openAi.streamsFrom(async function* () {
        yield 'one';
        await gate.opened;
        yield openAi.reset;
      }),
      openAi.cuts,
    );
    const reader = (await ask({})).body?.getReader();
    expect(Buffer.from((await reader?.read())?.value ?? []).toString()).to.equal('one');
    gate.open();
    expect(await reader?.read().catch((error: Error) => error.message)).to.equal('terminated');
    expect(await ask({}).catch((error: Error) => error.message)).to.equal('fetch failed');
  });

  it('records requests and disconnects', async () => {
    api = await startFakeOpenAi();
    api.answer(openAi.hangs, openAi.says('a'));
    const controller = new AbortController();
    const asked = ask({ model: 'm' }, { signal: controller.signal }).catch(() => undefined);
    while (api.requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
    controller.abort();
    await api.requests[0]?.leaving;
    await asked;
    await (await ask({ model: 'n' })).text();
    expect(api.requests.map(({ body, left }) => [body, left])).to.deep.equal([
      [{ model: 'm' }, true],
      [{ model: 'n' }, false],
    ]);
    api.clear();
    expect(api.requests).to.deep.equal([]);
  });
});
