import { expect } from 'chai';
import { createGate, openAi, startFakeOpenAi } from 'mortise/contracts/provider-openai/testing';
import type { ProviderSettings } from 'mortise/sdk';
import { apiKey, failureOf, type OpenAiHost, openAiHost, say, textOf } from './support.js';

const { chunk, endMark, frame } = openAi;

describe('the API when it fails', () => {
  let api: OpenAiHost;

  async function start(settings: ProviderSettings = {}, config: object = {}): Promise<void> {
    api = await openAiHost(config, settings);
  }

  afterEach(() => api.stop());

  const tries = (): number => api.upstream.requests.length;
  const soon = { 'retry-after': '0' };

  it('is retried after a temporary failure, with at most three attempts', async () => {
    await start();
    for (const status of [408, 429, 500, 502, 503, 504, 529]) {
      api.upstream.clear();
      api.upstream.always(openAi.fails(status, { message: 'busy' }, soon));
      expect(await failureOf(api.ask()), String(status)).to.deep.equal({
        code: 'provider_request_failed',
        status: 502,
        message: `provider returned status ${status}`,
        details: { runner_message: 'busy', cause: 'invalid_request_error', provider_status: status, attempts: 3 },
      });
      expect(tries(), String(status)).to.equal(3);
    }
  });

  it('is asked once after a permanent failure', async () => {
    await start();
    for (const status of [400, 401, 403, 404, 409, 422, 307, 501]) {
      api.upstream.clear();
      api.upstream.always(openAi.fails(status, {}, { ...soon, location: `${api.upstream.baseUrl}/elsewhere` }));
      const { code, message, details } = await failureOf(api.ask());
      expect([code, message]).to.deep.equal(['provider_request_failed', `provider returned status ${status}`]);
      expect(details).to.include({ provider_status: status }).and.not.have.property('attempts');
      expect(tries(), String(status)).to.equal(1);
    }
  });

  it('does not show the configured key when the API quotes it, whatever the key looks like', async () => {
    const operator = 'harvest-moon-over-the-bay';
    await start({}, { headers: { 'x-team-key': operator } });
    api.upstream.always(openAi.fails(401, { message: `Incorrect API key provided: ${operator}.` }));
    const failure = await failureOf(api.ask());
    expect(failure.details?.runner_message).to.equal('Incorrect API key provided: [REDACTED].');
    expect(JSON.stringify(failure)).to.not.contain(operator);
  });

  it('may succeed at the second attempt', async () => {
    await start();
    api.upstream.answer(openAi.fails(503, {}, soon), openAi.says('here'));
    expect(textOf(await api.ask())).to.equal('here');
    api.upstream.answer(openAi.cuts, openAi.says('again'));
    expect(textOf(await api.ask())).to.equal('again');
    // The head came, and nothing of the body.
    api.upstream.answer({ ...openAi.streams('', openAi.reset) }, openAi.says('whole'));
    expect(textOf(await api.ask())).to.equal('whole');
    expect(tries()).to.equal(6);
  });

  it('is retried as often as the settings allow', async () => {
    await start({ max_retries: 0 });
    api.upstream.always(openAi.fails(503));
    expect((await failureOf(api.ask())).details).to.include({ attempts: 1 });
    await failureOf(api.ask({ settings: { max_retries: 1 } }));
    expect(tries()).to.equal(3);
  });

  it('is reported with the system’s code when it cannot be reached', async () => {
    await start({ max_retries: 0 });
    await api.upstream.stop();
    expect(await failureOf(api.ask())).to.deep.equal({
      code: 'provider_request_failed',
      status: 502,
      message: 'provider request failed',
      details: { cause: 'ECONNREFUSED', attempts: 1 },
    });
    api = { ...api, stop: () => api.host.stop() };
  });

  it('is not retried after the first byte of its answer', async () => {
    await start();
    const gate = createGate();
    api.upstream.answer(
      openAi.streamsFrom(async function* () {
        yield chunk({ content: 'Hel' });
        await gate.opened;
        yield openAi.reset;
      }),
    );
    const shown: string[] = [];
    const run = (async () => {
      for await (const event of api.stream()) {
        if (event.type === 'content_delta') shown.push(event.text);
        gate.open();
      }
    })();
    const { code, message, details } = await failureOf(run);
    expect([code, message, shown]).to.deep.equal([
      'provider_request_failed',
      'provider stream request failed',
      ['Hel'],
    ]);
    expect(details).to.have.property('cause').that.is.a('string');
    expect(details).to.not.have.property('attempts');
    expect(tries()).to.equal(1);
  });

  it('may report an error within a stream', async () => {
    await start();
    const error = {
      message: 'The server had an error with sk-abcdefghijklmnopqrstuv',
      type: 'server_error',
      code: null,
    };
    api.upstream.answer(openAi.streams(chunk({ content: 'Hel' }), frame({ error }), endMark));
    expect(await failureOf(api.ask())).to.deep.include({
      code: 'provider_request_failed',
      message: 'provider stream request failed',
      details: { runner_message: 'The server had an error with [REDACTED]', cause: 'server_error' },
    });
    api.upstream.answer(openAi.json(200, { error: { message: 'no', code: 418 } }));
    expect((await failureOf(api.ask())).details).to.deep.equal({ runner_message: 'no', provider_status: 418 });
  });

  it('is distinguished from an answer that was cut off', async () => {
    await start();
    api.upstream.answer(openAi.streams(chunk({ content: 'Hel' })));
    expect(await failureOf(api.ask())).to.deep.include({ details: { cause: 'incomplete_stream' } });
    api.upstream.answer(openAi.streams());
    expect(await failureOf(api.ask())).to.deep.include({ details: { cause: 'incomplete_stream' } });
  });

  it('is reported when its answer is malformed', async () => {
    await start();
    const wrong: [openAi.UpstreamAnswer, boolean, string][] = [
      [openAi.json(200, '{"id": "chat'), false, 'provider response is not valid json'],
      [openAi.json(200, '[]'), false, 'provider response is not valid json'],
      [openAi.json(200, {}), false, 'provider response has no choices'],
      [openAi.json(200, { choices: [] }), true, 'provider response has no choices'],
      [openAi.says(''), false, 'provider response has empty content'],
      [openAi.says(''), true, 'provider response has empty content'],
      [openAi.streams(endMark), true, 'provider response has no choices'],
      [openAi.streams(frame('{"choices":[{"delta"'), endMark), true, 'provider response is not valid json'],
      [openAi.streams(frame('7'), endMark), true, 'provider response is not valid json'],
      [
        openAi.streams(openAi.toolChunk([{ index: 0, id: 'a', function: { arguments: '{}' } }]), endMark),
        true,
        'provider response has a tool call without a name',
      ],
    ];
    for (const [answer, stream, message] of wrong) {
      api.upstream.clear();
      api.upstream.answer(answer);
      expect(await failureOf(api.ask({ stream })), message).to.deep.equal({
        code: 'provider_invalid_reply',
        status: 502,
        message,
      });
      expect(tries(), message).to.equal(1);
    }
  });

  it('is disconnected when its answer is too large', async () => {
    await start();
    const megabyte = 'x'.repeat(1024 * 1024);
    api.upstream.answer(openAi.streams('data: ', ...Array(9).fill(megabyte), '\n\n', endMark));
    expect(await failureOf(api.ask())).to.include({
      code: 'provider_invalid_reply',
      message: 'provider response has too long a line',
    });
    api.upstream.answer({ ...openAi.json(200, ''), body: Array(33).fill(megabyte) });
    expect(await failureOf(api.ask({ stream: false }))).to.include({
      code: 'provider_invalid_reply',
      message: 'provider response is too large',
    });
    const endless = async function* () {
      for (;;) yield megabyte;
    };
    api.upstream.answer({ ...openAi.json(418, ''), body: endless() });
    expect(await failureOf(api.ask())).to.include({ message: 'provider returned status 418' });
    await api.upstream.requests.at(-1)?.leaving;
  });

  it('may answer with a page or another text, which is no reply', async () => {
    await start();
    for (const [type, body] of [
      ['text/html', '<!doctype html><html>Sign in</html>'],
      ['text/event-stream', '\n <html>Sign in</html>'],
      ['text/html', 'upstream busy'],
      ['text/plain', 'upstream busy'],
    ] as const) {
      for (const stream of [true, false]) {
        api.upstream.answer({ headers: { 'content-type': type }, body: [body] });
        expect(await failureOf(api.ask({ stream })), type).to.include({
          code: 'provider_invalid_reply',
          message: 'provider response is not valid json',
        });
      }
    }
  });

  it('is disconnected after a long pause, or when it is too slow altogether', async () => {
    await start({ idle_timeout_ms: 500 });
    const stalls = openAi.streamsFrom(async function* ({ leaving }) {
      yield chunk({ content: 'Hel' });
      await leaving;
    });
    api.upstream.answer(stalls);
    expect(await failureOf(api.ask())).to.deep.include({
      message: 'provider stream request failed',
      details: { cause: 'idle_timeout' },
    });
    await api.upstream.requests[0]?.leaving;
    // The head alone is no sign of life, and nothing is asked again after such a silence.
    const silent = openAi.streamsFrom(async function* ({ leaving }) {
      yield '';
      await leaving;
    });
    api.upstream.answer(silent);
    expect(await failureOf(api.ask())).to.deep.include({ details: { cause: 'idle_timeout' } });
    await api.upstream.requests[1]?.leaving;
    expect(tries()).to.equal(2);
    // No head is a silence too.
    api.upstream.answer(openAi.hangs);
    expect(await failureOf(api.ask())).to.deep.include({ details: { cause: 'idle_timeout' } });
    await api.upstream.requests[2]?.leaving;
    expect(tries()).to.equal(3);
    api.upstream.answer(openAi.hangs, stalls);
    for (const timeout_ms of [400, 600]) {
      const settings = { timeout_ms, idle_timeout_ms: 10_000 };
      expect(await failureOf(api.ask({ settings }))).to.deep.include({
        code: 'provider_request_failed',
        message: 'provider request timed out',
        details: { cause: 'timeout' },
      });
      await api.upstream.requests.at(-1)?.leaving;
    }
  });

  it('is not charged with the time of its reader', async () => {
    await start({ idle_timeout_ms: 1_000 });
    const gate = createGate();
    api.upstream.answer(
      openAi.streamsFrom(async function* () {
        yield chunk({ content: 'slow' });
        await gate.opened;
        yield chunk({ content: 'reader' }, 'stop');
      }),
    );
    const shown: string[] = [];
    for await (const event of api.stream()) {
      if (event.type !== 'content_delta') continue;
      shown.push(event.text);
      await new Promise((resolve) => setTimeout(resolve, 1_300));
      gate.open();
    }
    expect(shown).to.deep.equal(['slow', 'reader']);
  });

  it('is disconnected at once when the caller aborts', async () => {
    await start();
    const controller = new AbortController();
    api.upstream.answer(openAi.hangs);
    const waiting = failureOf(api.ask({}, controller.signal));
    while (tries() === 0) await new Promise((resolve) => setImmediate(resolve));
    controller.abort();
    await api.upstream.requests[0]?.leaving;
    expect((await waiting).code).to.equal('call_aborted');

    api.upstream.answer(
      openAi.streamsFrom(async function* ({ leaving }) {
        yield chunk({ content: 'first' });
        await leaving;
      }),
    );
    for await (const event of api.stream()) if (event.type === 'content_delta') break;
    await api.upstream.requests[1]?.leaving;
    expect(tries()).to.equal(2);
  });

  it('is not retried when the caller aborts between two attempts', async () => {
    await start();
    const controller = new AbortController();
    api.upstream.always(openAi.fails(503, {}, { 'retry-after': '9' }));
    const waiting = failureOf(api.ask({}, controller.signal));
    while (tries() === 0) await new Promise((resolve) => setImmediate(resolve));
    controller.abort();
    expect((await waiting).code).to.equal('call_aborted');
    expect(tries()).to.equal(1);
  });

  it('may hold a connection open after its end mark without holding the answer back', async () => {
    await start();
    const gate = createGate();
    api.upstream.answer(
      openAi.streamsFrom(async function* () {
        yield chunk({ content: 'done' }, 'stop');
        yield endMark;
        await gate.opened;
      }),
    );
    expect(textOf(await api.ask())).to.equal('done');
    gate.open();
  });

  it('is asked again on the same connections', async () => {
    await start();
    api.upstream.always(openAi.says('ok'));
    for (let round = 0; round < 8; round += 1) await api.ask({ stream: round % 2 === 0 });
    const connections = new Set(api.upstream.requests.map(({ connection }) => connection));
    // Another one may be opened while the last is still put back.
    expect(connections.size).to.be.at.most(3);
  });

  it('leaves neither secrets nor its messages in the log', async () => {
    await start({ max_retries: 0 });
    api.upstream.answer(openAi.says('canary-of-the-answer'), openAi.fails(400, { message: 'canary of the refusal' }));
    await api.ask({ messages: [{ role: 'user', content: 'canary-of-the-question' }] });
    await failureOf(api.ask());
    expect(api.host.logs.join('\n')).to.not.match(/canary|sk-test/);
  });

  it('may be another one than the configured one', async () => {
    await start();
    const other = await startFakeOpenAi();
    other.always(openAi.says('other'));
    const settings = { base_url: other.baseUrl, api_key: apiKey };
    expect(textOf(await api.ask(say({ settings })))).to.equal('other');
    await other.stop();
  });
});
