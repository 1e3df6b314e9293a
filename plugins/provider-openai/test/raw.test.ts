import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { createGate, openAi } from 'mortise/contracts/provider-openai/testing';
import type { ProviderSettings, RawExchange, RawResponseEvent } from 'mortise/sdk';
import { until } from 'mortise/sdk/testing';
import { apiKey, failureOf, type OpenAiHost, openAiHost } from './support.js';

describe('raw exchanges with the API', () => {
  let api: OpenAiHost;

  beforeEach(async () => {
    api = await openAiHost();
  });
  afterEach(() => api.stop());

  function exchange(body: string, more: Partial<RawExchange> = {}, signal?: AbortSignal) {
    const request: RawExchange = {
      method: 'POST',
      path: '/v1/chat/completions?trace=1',
      headers: { 'content-type': 'application/json', accept: '*/*', 'content-length': '3', 'openai-beta': 'a, b' },
      body: Buffer.from(body),
      settings: {},
      ...more,
    };
    return api.host.points.stream(
      'provider',
      'openai-compatible',
      (provider, ctx) => {
        if (!provider.raw) throw new Error('it has no raw exchanges');
        return provider.raw(request, ctx);
      },
      { signal },
    );
  }

  async function answered(events: AsyncIterable<RawResponseEvent>) {
    const parts: Uint8Array[] = [];
    let head: Extract<RawResponseEvent, { type: 'head' }> | undefined;
    for await (const event of events) {
      if (event.type === 'head') head = event;
      else parts.push(event.bytes);
    }
    return { head, body: Buffer.concat(parts) };
  }

  it('pass bytes and headers on in both directions, with the credentials of the provider', async () => {
    const sent = '{ "model":"m",\n"future": {"a": 1e2}, "messages": [ ] , "😀":"\\u00e9"}';
    const back = gzipSync('{"id": "x",  "choices":[]}');
    api.upstream.answer({
      status: 202,
      headers: {
        'content-type': 'application/json; odd',
        'content-encoding': 'gzip',
        'x-own': 'yes',
        'set-cookie': 'a=b',
        connection: 'keep-alive, x-hop',
        'x-hop': '1',
      },
      body: [back.subarray(0, 5), back.subarray(5)],
    });
    const { head, body } = await answered(exchange(sent));
    const [request] = api.upstream.requests;
    expect(Buffer.from(request?.bytes ?? []).toString()).to.equal(sent);
    expect(request?.path).to.equal('/v1/chat/completions?trace=1');
    expect(request?.headers).to.include({ authorization: `Bearer ${apiKey}`, 'openai-beta': 'a, b', accept: '*/*' });
    expect(head?.status).to.equal(202);
    expect(head?.headers).to.include({
      'content-encoding': 'gzip',
      'x-own': 'yes',
      'content-type': 'application/json; odd',
    });
    expect(head?.headers).to.not.have.any.keys('set-cookie', 'connection', 'x-hop', 'transfer-encoding');
    expect(body.equals(back)).to.equal(true);
  });

  it('return the API’s refusals as they are, and are not retried', async () => {
    api.upstream.answer(openAi.fails(503, { message: 'busy' }, { 'retry-after': '7' }));
    const { head, body } = await answered(exchange('{}'));
    expect([head?.status, head?.headers['retry-after']]).to.deep.equal([503, '7']);
    expect(body.toString()).to.contain('busy');
    expect(api.upstream.requests.length).to.equal(1);
  });

  it('arrive piece by piece, and end the request when the reader leaves', async () => {
    const gate = createGate();
    api.upstream.always(
      openAi.streamsFrom(async function* ({ leaving }) {
        yield 'data: 1\n\n';
        await gate.opened;
        yield 'data: 2\n\n';
        await leaving;
      }),
    );
    const seen: string[] = [];
    for await (const event of exchange('{"stream":true}')) {
      if (event.type !== 'body') continue;
      seen.push(Buffer.from(event.bytes).toString());
      gate.open();
      if (seen.length === 2) break;
    }
    expect(seen).to.deep.equal(['data: 1\n\n', 'data: 2\n\n']);
    await api.upstream.requests[0]?.leaving;

    const controller = new AbortController();
    api.upstream.always(openAi.hangs);
    const waiting = failureOf(answered(exchange('{}', {}, controller.signal)));
    await until(() => api.upstream.requests.length === 2);
    controller.abort();
    await api.upstream.requests[1]?.leaving;
    expect((await waiting).code).to.equal('call_aborted');
  });

  it('have the time limits of the provider', async () => {
    const beginning = openAi.streamsFrom(async function* ({ leaving }) {
      yield 'data: 1\n\n';
      await leaving;
    });
    api.upstream.answer(openAi.hangs, beginning, openAi.hangs, beginning);
    const asked = (settings: ProviderSettings) => answered(exchange('{}', { settings, startsAtOnce: true }));
    const silent = { code: 'provider_request_failed', details: { cause: 'idle_timeout' } };
    expect(await failureOf(asked({ idle_timeout_ms: 400 }))).to.deep.include(silent);
    expect(await failureOf(asked({ idle_timeout_ms: 400 }))).to.deep.include(silent);
    const slow = { message: 'provider request timed out', details: { cause: 'timeout' } };
    expect(await failureOf(asked({ timeout_ms: 400 }))).to.deep.include(slow);
    expect(await failureOf(asked({ timeout_ms: 400 }))).to.deep.include(slow);
    for (const { leaving } of api.upstream.requests) await leaving;
  });

  it('need a key, and say when the API cannot be reached or breaks off', async () => {
    expect(await failureOf(answered(exchange('{}', { settings: { base_url: api.upstream.baseUrl } })))).to.include({
      code: 'provider_not_configured',
      status: 400,
    });
    const away = { base_url: 'http://127.0.0.1:9/v1', api_key: 'any' };
    expect(await failureOf(answered(exchange('{}', { settings: away })))).to.deep.include({
      code: 'provider_request_failed',
      status: 502,
    });
    api.upstream.answer({ ...openAi.streams('data: 1\n\n', openAi.reset) });
    expect(await failureOf(answered(exchange('{}')))).to.deep.include({ code: 'provider_request_failed', status: 502 });
    expect(api.host.logs.join('\n')).to.not.contain(apiKey);
  });
});
