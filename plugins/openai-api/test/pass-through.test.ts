import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import {
  cuts,
  json,
  recordedBodies,
  reset,
  startUpstream,
  streams,
  streamsFrom,
  type Upstream,
} from 'mortise/contracts/models/testing';
import { openAi } from 'mortise/contracts/provider-openai/testing';
import { until } from 'mortise/sdk/testing';
import { type OpenAiHost, openAiHost, say } from './support.js';

const apiKey = 'sk-test-0123456789';

for (const api of [
  { name: 'chat completions', path: '/v1/chat/completions', known: say('hi') },
  { name: 'responses', path: '/v1/responses', known: { model: '', input: 'hi' } },
]) {
  describe(`${api.name}, passed through`, () => {
    let upstream: Upstream;
    let openai: OpenAiHost;
    before(async () => {
      upstream = await startUpstream({
        basePath: '/v1',
        nothingScripted: openAi.fails(500),
        refuse: ({ headers }) => (headers.authorization === `Bearer ${apiKey}` ? undefined : openAi.fails(401)),
      });
      openai = await openAiHost(
        {},
        {
          plugins: ['provider-openai', 'sessions'],
          env: { OPENAI_API_KEY: apiKey, OPENAI_BASE_URL: upstream.baseUrl },
        },
      );
      const aliases = { model_aliases: { 'fast 漢': 'gpt-4o-mini' } };
      const configured = await openai.host.fetch('/models/openai/config', {
        method: 'PUT',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(aliases),
      });
      expect(configured.status).to.equal(200);
    });
    beforeEach(() => upstream.clear());
    after(async () => {
      await openai.stop();
      await upstream.stop();
    });

    const post = (body: string, headers: Readonly<Record<string, string>> = {}, query = '') =>
      openai.host.fetch(`${api.path}${query}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body,
      });
    const sent = (index = 0): string => Buffer.from(upstream.requests[index]?.bytes ?? []).toString();

    it('changes no byte of 200 recorded bodies and their answers but the name of the model (A73)', async () => {
      for (const [index, model] of ['gpt-4o-mini', 'openai/gpt-4o-mini', 'fast 漢'].entries()) {
        for (const [at, body] of recordedBodies({ ...api.known, model }, 67, index).entries()) {
          upstream.clear();
          const answer = Buffer.from(`${body}${at}`);
          upstream.answer(
            at % 2 === 0
              ? { status: 201, headers: { 'content-type': 'application/json', 'x-new': 'a' }, body: [answer] }
              : streams(answer.subarray(0, at), answer.subarray(at)),
          );
          const response = await post(body);
          expect(sent(), body).to.equal(body.replace(JSON.stringify(model), '"gpt-4o-mini"'));
          expect(Buffer.from(await response.arrayBuffer()).equals(answer), body).to.equal(true);
          if (at % 2 === 0) expect(response.headers.get('x-new')).to.equal('a');
        }
      }
    });

    it('does not pass on a refusal that quotes the key of the platform, encoded or not', async () => {
      const refusal = JSON.stringify({ error: { message: `Incorrect API key provided: ${apiKey}.` } });
      const headers = { 'content-type': 'application/json' };
      upstream.answer({
        status: 401,
        headers,
        body: [Buffer.from(refusal.slice(0, 60)), Buffer.from(refusal.slice(60))],
      });
      upstream.answer({ status: 401, headers: { ...headers, 'content-encoding': 'gzip' }, body: [gzipSync(refusal)] });
      for (const coding of ['identity', 'gzip']) {
        const response = await post(JSON.stringify({ ...api.known, model: 'gpt-4o-mini' }), {
          'accept-encoding': coding,
        });
        expect([response.status, await response.json()], coding).to.deep.equal([
          401,
          { error: { message: 'Incorrect API key provided: [REDACTED].' } },
        ]);
      }
    });

    it("forwards the client's headers, with its own key", async () => {
      upstream.answer(json(200, {}));
      const body = JSON.stringify({ ...api.known, model: 'gpt-4o-mini' });
      const response = await post(
        body,
        {
          authorization: 'Bearer of-the-client',
          cookie: 'a=b',
          'openai-beta': 'x=1',
          'x-stainless-lang': 'js',
          'user-agent': 'client/1',
        },
        '?a=%20b',
      );
      expect(response.headers.get('x-mortise-model')).to.equal('openai/gpt-4o-mini');
      const [request] = upstream.requests;
      expect(request?.path).to.equal(`${api.path}?a=%20b`);
      expect(request?.headers).to.include({
        authorization: `Bearer ${apiKey}`,
        'openai-beta': 'x=1',
        'x-stainless-lang': 'js',
        'user-agent': 'client/1',
      });
      expect(request?.headers).not.to.have.any.keys('cookie');
    });

    it('passes refusals on, answers 502 when the provider is unreachable, and ends with an error when it breaks off', async () => {
      const body = JSON.stringify({ ...api.known, model: 'gpt-4o-mini' });
      const ids = { 'x-request-id': 'req_of_the_provider' };
      upstream.answer(openAi.fails(429, { code: 'rate_limit_exceeded' }, { 'retry-after': '2', ...ids }));
      const refused = await post(body);
      expect(refused.headers.get('x-mortise-provider-request-id')).to.equal('req_of_the_provider');
      expect(refused.headers.get('x-request-id')).to.match(/^req-/);
      expect([refused.status, refused.headers.get('retry-after')]).to.deep.equal([429, '2']);
      expect(((await refused.json()) as { error: object }).error).to.include({ code: 'rate_limit_exceeded' });
      expect(upstream.requests).to.have.length(1);
      upstream.answer(cuts);
      const unreachable = await post(body);
      expect(unreachable.status).to.equal(502);
      expect(((await unreachable.json()) as { error: object }).error).to.include({ code: 'provider_request_failed' });
      upstream.answer(streams('data: {}\n\n', reset));
      const broken = await post(body);
      const [first, last] = (await broken.text()).split('\n').filter((line) => line.startsWith('data: '));
      expect(first).to.equal('data: {}');
      expect(JSON.parse(last?.slice(6) ?? '').error).to.include({ code: 'provider_request_failed' });
    });

    it('aborts the provider when the client disconnects', async () => {
      upstream.answer(
        streamsFrom(async function* ({ leaving }) {
          yield 'data: 1\n\n';
          await leaving;
        }),
      );
      const controller = new AbortController();
      const response = await fetch(`${openai.host.origin}${api.path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ ...api.known, model: 'gpt-4o-mini', stream: true }),
        signal: controller.signal,
      });
      await response.body?.getReader().read();
      controller.abort();
      await until('the request to the provider is aborted', () => upstream.requests[0]?.left === true);
    });

    it('records an exchange that is passed through (A80)', async () => {
      const usage = { prompt_tokens: 5, completion_tokens: 2 };
      const delta = (content: string, finish: string | null = null) =>
        `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content }, finish_reason: finish }] })}\n\n`;
      const output = [{ type: 'message', content: [{ type: 'output_text', text: 'ab' }] }];
      const response = { status: 'completed', output, usage: { input_tokens: 5, output_tokens: 2 } };
      const answers = api.path.endsWith('responses')
        ? [json(200, response), streams(`data: ${JSON.stringify({ type: 'response.completed', response })}\n\n`)]
        : [
            json(200, { choices: [{ message: { content: 'ab' }, finish_reason: 'stop' }], usage }),
            streams(
              delta('a'),
              delta('b', 'stop'),
              `data: ${JSON.stringify({ choices: [], usage })}\n\n`,
              'data: [DONE]\n\n',
            ),
          ];
      for (const [index, answer] of answers.entries()) {
        upstream.answer(answer);
        const body = { ...api.known, model: 'gpt-4o-mini', metadata: { user_id: 'ada' } };
        await (await post(JSON.stringify(body), { 'x-mortise-session': `s-${index}` })).text();
        const session = { channel: 'console', userId: 'ada', sessionId: `s-${index}` };
        const rows = async () => (await openai.host.service('sessions').display({ session })).messages;
        await until('the exchange is recorded', async () => (await rows()).length === 2);
        expect((await rows()).map(({ content }) => content)).to.deep.equal(['hi', 'ab']);
      }
    });
  });
}

describe('responses of another provider with the same API', () => {
  it('pass through to the adapter codex-compatible, and are translated for one of chat completions', async () => {
    const upstream = await startUpstream({ basePath: '/v1', nothingScripted: openAi.fails(500) });
    upstream.always(({ path }) => (path === '/v1/responses' ? json(200, { passed: true }) : openAi.says('translated')));
    const account = { OPENAI_API_KEY: apiKey, CODEX_COMPATIBLE_B_API_KEY: apiKey, OLLAMA_API_KEY: apiKey };
    const openai = await openAiHost(
      {},
      {
        plugins: ['provider-openai', 'provider-codex'],
        env: { ...account, CODEX_COMPATIBLE_B_BASE_URL: upstream.baseUrl, OLLAMA_BASE_URL: upstream.baseUrl },
      },
    );
    try {
      const passed = await openai.respond({ model: 'codex-compatible-b/gpt-5-codex', input: 'hi' });
      expect(await passed.json()).to.deep.equal({ passed: true });
      const translated = await openai.client.responses.create({ model: 'ollama/llama', input: 'hi' });
      expect(translated.output_text).to.equal('translated');
      expect(upstream.requests.map(({ path }) => path)).to.deep.equal(['/v1/responses', '/v1/chat/completions']);
    } finally {
      await openai.stop();
      await upstream.stop();
    }
  });
});
