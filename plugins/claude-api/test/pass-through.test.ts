import { request as httpRequest } from 'node:http';
import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { cuts, recordedBodies, reset, streams, streamsFrom, type Upstream } from 'mortise/contracts/models/testing';
import { anthropic, startFakeAnthropic } from 'mortise/contracts/provider-anthropic/testing';
import { until } from 'mortise/sdk/testing';
import { type ClaudeHost, claudeHost, eventsOf, say } from './support.js';

const apiKey = 'sk-ant-test-0123456789';

describe('POST /v1/messages, passed through', () => {
  let upstream: Upstream;
  let claude: ClaudeHost;
  before(async () => {
    upstream = await startFakeAnthropic({ apiKey });
    claude = await claudeHost(
      {},
      { plugins: ['provider-anthropic'], env: { ANTHROPIC_API_KEY: apiKey, ANTHROPIC_BASE_URL: upstream.baseUrl } },
    );
  });
  beforeEach(() => upstream.clear());
  after(async () => {
    await claude.stop();
    await upstream.stop();
  });

  const post = (body: string, path = '/v1/messages', headers: Readonly<Record<string, string>> = {}) =>
    claude.host.fetch(path, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body });

  it("forwards bytes and headers, with its own key in place of the client's (A59)", async () => {
    const body =
      '{ "model" :"claude-new-9","max_tokens":1.0,\n"messages":[{"role":"assistant","content":[{"type":"thinking",' +
      '"thinking":"h\\u006dm","signature":"EqQB=="},{"type":"future_block","x":{}}]}],"betas_of_2030":[null] }';
    const betas = Array.from({ length: 8 }, (_, index) => `beta-${index}`).join(',');
    upstream.answer(anthropic.says('ok'));
    const response = await post(body, '/v1/messages?beta=true&x=%20a+b', {
      'anthropic-beta': betas,
      'anthropic-version': '2023-06-01',
      'x-api-key': 'of-the-client',
      authorization: 'Bearer of-the-client',
      cookie: 'a=b',
      'x-forwarded-for': '10.0.0.1',
      'x-stainless-lang': 'js',
      'x-app': 'cli',
      'user-agent': 'client/1',
    });
    expect(response.status).to.equal(200);
    expect(response.headers.get('x-mortise-model')).to.equal('anthropic/claude-new-9');
    const [sent] = upstream.requests;
    expect(Buffer.from(sent?.bytes ?? []).toString()).to.equal(body);
    expect(sent?.path).to.equal('/v1/messages?beta=true&x=%20a+b');
    expect(sent?.headers).to.include({
      'anthropic-beta': betas,
      'anthropic-version': '2023-06-01',
      'x-api-key': apiKey,
      'x-stainless-lang': 'js',
      'x-app': 'cli',
      'user-agent': 'client/1',
    });
    expect(sent?.headers).not.to.have.any.keys('authorization', 'cookie', 'x-forwarded-for');
  });

  it('changes no byte of 1,000 recorded bodies and their answers (M8)', async () => {
    const known = { model: 'claude-x', max_tokens: 1, messages: [{ role: 'user', content: 'hi' }] };
    for (const [index, body] of recordedBodies(known, 1_000).entries()) {
      const answer = Buffer.from(`${body}${index}`);
      upstream.answer(
        index % 2 === 0
          ? {
              status: index % 4 === 0 ? 200 : 422,
              headers: { 'content-type': 'application/json', 'x-new': 'a' },
              body: [answer],
            }
          : streams(answer.subarray(0, index), answer.subarray(index)),
      );
      const response = await post(body);
      const got = Buffer.from(await response.arrayBuffer());
      expect(Buffer.from(upstream.requests.at(-1)?.bytes ?? []).toString(), body).to.equal(body);
      expect(got.equals(answer), body).to.equal(true);
      if (index % 2 === 1) expect(response.headers.get('content-type')).to.equal('text/event-stream; charset=utf-8');
      else expect(response.headers.get('x-new')).to.equal('a');
    }
  });

  it('splices only the name of the model, wherever it is', async () => {
    const names = ['anthropic/claude-x', 'anthropic\\/claude-x'];
    for (const [index, name] of names.entries()) {
      const body = (model: string) =>
        `{"messages":[{"model":"not this"}],"x":"\\"model\\":\\"","mod\\u0065l" : "${model}", "max_tokens":1.0}`;
      upstream.answer(anthropic.says('ok'));
      expect((await post(body(name))).status).to.equal(200);
      expect(Buffer.from(upstream.requests[index]?.bytes ?? []).toString()).to.equal(body('claude-x'));
    }
  });

  it('passes compressed answers on as they are', async () => {
    const bytes = gzipSync('{"type":"message"}');
    const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
    upstream.answer({ headers, body: [bytes] });
    const got = await new Promise<{ bytes: Buffer; encoding: unknown }>((resolve, reject) => {
      const request = httpRequest(`${claude.host.origin}/v1/messages`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'accept-encoding': 'gzip' },
      });
      request.on('error', reject).on('response', (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => {
          resolve({ bytes: Buffer.concat(chunks), encoding: response.headers['content-encoding'] });
        });
      });
      request.end(JSON.stringify(say('hi', { model: 'claude-x' })));
    });
    expect(got.encoding).to.equal('gzip');
    expect(got.bytes.equals(bytes)).to.equal(true);
  });

  it('passes refusals of the provider on, without a retry', async () => {
    const headers = { 'retry-after': '3', 'set-cookie': 'a=b', 'request-id': 'req_of_anthropic' };
    upstream.answer(anthropic.fails(529, { type: 'overloaded_error' }, headers));
    const response = await post(JSON.stringify(say('hi', { model: 'claude-x' })));
    expect(response.headers.get('request-id')).to.equal('req_of_anthropic');
    expect(response.headers.get('x-mortise-provider-request-id')).to.equal('req_of_anthropic');
    expect(response.status).to.equal(529);
    expect(response.headers.get('retry-after')).to.equal('3');
    expect(response.headers.get('set-cookie')).to.equal(null);
    expect(((await response.json()) as { error: object }).error).to.deep.equal({
      type: 'overloaded_error',
      message: 'scripted',
    });
    expect(upstream.requests).to.have.length(1);
  });

  it('answers 502 when the provider cannot be reached, and ends with an error event when it breaks off', async () => {
    upstream.answer(cuts);
    const response = await post(JSON.stringify(say('hi', { model: 'claude-x' })));
    expect(response.status).to.equal(502);
    expect(((await response.json()) as { error: object }).error).to.include({
      type: 'api_error',
      code: 'provider_request_failed',
    });
    upstream.answer(streams('event: ping\ndata: {"type":"ping"}\n\n', reset));
    const broken = await post(JSON.stringify(say('hi', { model: 'claude-x', stream: true })));
    expect(broken.status).to.equal(200);
    const [ping, error] = eventsOf((await broken.text()).replaceAll(/\n{3,}/g, '\n\n'));
    expect(ping?.type).to.equal('ping');
    expect(error?.error).to.include({ type: 'api_error', code: 'provider_request_failed' });
  });

  it('sends each piece as it arrives, and aborts the provider when the client disconnects', async () => {
    let proceed: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => {
      proceed = resolve;
    });
    upstream.answer(
      streamsFrom(async function* ({ leaving }) {
        yield 'data: 1\n\n';
        await gate;
        yield 'data: 2\n\n';
        await leaving;
      }),
    );
    const controller = new AbortController();
    const response = await fetch(`${claude.host.origin}/v1/messages`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(say('hi', { model: 'claude-x', stream: true })),
      signal: controller.signal,
    });
    const reader = response.body?.getReader();
    const read = async () => Buffer.from((await reader?.read())?.value ?? []).toString();
    expect(await read()).to.equal('data: 1\n\n');
    proceed();
    expect(await read()).to.equal('data: 2\n\n');
    controller.abort();
    await until('the request to the provider is aborted', () => upstream.requests[0]?.left === true);
  });

  describe('count_tokens', () => {
    const count = (body: object) => claude.host.post('/v1/messages/count_tokens', body);

    it('is the count of the provider', async () => {
      upstream.answer({ headers: { 'content-type': 'application/json' }, body: ['{"input_tokens":1234}'] });
      const response = await count(say('hi', { model: 'claude-x' }));
      expect(response.headers.get('x-mortise-token-source')).to.equal('provider');
      expect(await response.text()).to.equal('{"input_tokens":1234}');
      expect(upstream.requests[0]?.path).to.equal('/v1/messages/count_tokens');
    });

    it('is an estimate when the provider cannot count', async () => {
      for (const answer of [anthropic.fails(404), anthropic.fails(503), cuts]) {
        upstream.answer(answer);
        const response = await count(say('hello world', { model: 'claude-x', system: 'internationalization' }));
        expect(response.headers.get('x-mortise-token-source')).to.equal('estimate');
        expect(await response.json()).to.deep.equal({ input_tokens: 9 });
      }
      upstream.answer(anthropic.fails(400, { message: 'no' }));
      expect((await count(say('hi', { model: 'claude-x' }))).status).to.equal(400);
    });

    it('counts tools, and needs a model and messages', async () => {
      const tool = { name: 'a', input_schema: { type: 'object' } };
      const plain = (await (await count(say('hi'))).json()) as { input_tokens: number };
      const withTool = (await (await count(say('hi', { tools: [tool] }))).json()) as { input_tokens: number };
      expect(withTool.input_tokens).to.be.greaterThan(plain.input_tokens);
      expect((await count({ messages: [] })).status).to.equal(400);
      const refused = (await (await count({ model: 'scripted/m' })).json()) as { error: { message: string } };
      expect(refused.error.message).to.equal('messages is required');
    });
  });
});
