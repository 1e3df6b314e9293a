import { expect } from 'chai';
import { MortiseError } from '../../sdk/index.js';
import { createMetrics } from '../../telemetry/index.js';
import { ask, askRaw, route, serve, stopAll } from './serve.js';

describe('answers', () => {
  afterEach(stopAll);

  it('sends JSON, text, bytes or nothing, each with its length', async () => {
    const served = await serve([
      route({ path: '/json' }, () => ({ body: { text: '你好' } })),
      route({ path: '/list' }, () => ({ status: 202, body: [] })),
      route({ path: '/null' }, () => ({ body: null })),
      route({ path: '/text' }, () => ({ body: 'é' })),
      route({ path: '/html' }, () => ({ headers: { 'content-type': 'text/html' }, body: '<p>' })),
      route({ path: '/bytes' }, () => ({ body: Uint8Array.of(1, 2, 3) })),
      route({ path: '/nothing' }, () => ({ status: 204 })),
      route({ path: '/empty' }, () => ({ status: 202 })),
      route({ path: '/many' }, () => ({ headers: { 'x-one': ['a', 'b'], Connection: 'upgrade' }, body: {} })),
    ]);
    const facts = async (path: string) => {
      const { status, headers, text } = await ask(served, path);
      return [status, headers['content-type'], headers['content-length'], text];
    };
    expect(await facts('/json')).to.deep.equal([200, 'application/json', '17', '{"text":"你好"}']);
    expect(await facts('/list')).to.deep.equal([202, 'application/json', '2', '[]']);
    expect(await facts('/null')).to.deep.equal([200, 'application/json', '4', 'null']);
    expect(await facts('/text')).to.deep.equal([200, 'text/plain; charset=utf-8', '2', 'é']);
    expect(await facts('/html')).to.deep.equal([200, 'text/html', '3', '<p>']);
    expect(await facts('/bytes')).to.deep.equal([200, 'application/octet-stream', '3', '\u0001\u0002\u0003']);
    expect(await facts('/nothing')).to.deep.equal([204, undefined, undefined, '']);
    expect(await facts('/empty')).to.deep.equal([202, undefined, '0', '']);
    expect((await ask(served, '/many')).headers).to.include({ 'x-one': 'a, b', connection: 'close' });
    expect((await ask(served, '/json')).headers['x-content-type-options']).to.equal('nosniff');
  });

  it('renders coded errors in the envelope of the mount', async () => {
    const fail = () => {
      throw new MortiseError('chat_busy', 'the chat is busy', {
        status: 429,
        details: { chat_id: 'c' },
        hint: 'wait',
        retryAfterSeconds: 1.2,
      });
    };
    const served = await serve([
      route({ path: '/agent' }, fail),
      route({ path: '/rest', mount: 'rest' }, fail),
      route({ path: '/v1/x', mount: 'typed' }, fail),
      route({ path: '/plain' }, () => Promise.reject({ code: 'odd', message: 'odd one', status: 200 })),
    ]);
    const agent = await ask(served, '/agent');
    expect(agent.status).to.equal(429);
    expect(agent.headers['retry-after']).to.equal('2');
    expect(agent.json).to.deep.equal({
      error: { code: 'chat_busy', message: 'the chat is busy', details: { chat_id: 'c' }, hint: 'wait' },
    });
    const rest = await ask(served, '/rest');
    expect(rest.json).to.deep.equal({
      ok: false,
      error: 'the chat is busy',
      detail: 'the chat is busy',
      reason: 'CHAT_BUSY',
      correlation_id: rest.headers['x-correlation-id'],
      details: { chat_id: 'c' },
      hint: 'wait',
    });
    expect((await ask(served, '/v1/x')).json.error).to.include({ type: 'rate_limit_error', code: 'chat_busy' });
    expect((await ask(served, '/plain')).status).to.equal(500);
    const unknown = await ask(served, '/v1/nowhere');
    expect(unknown.json).to.deep.equal({
      type: 'error',
      error: { type: 'not_found_error', message: 'route not found', code: 'not_found' },
      request_id: unknown.headers['x-request-id'],
    });
  });

  it('answers 500 for a route whose status or headers are invalid', async () => {
    const served = await serve([
      route({ path: '/large' }, () => ({ status: 9999 })),
      route({ path: '/text' }, () => ({ status: 'abc' as never, body: {} })),
      route({ path: '/early' }, () => ({ status: 101 })),
      route({ path: '/stream' }, () => ({ status: 99, stream: (async function* () {})() })),
      route({ path: '/header' }, () => ({ headers: { 'x-bad': 'a\r\nb' }, body: {} })),
    ]);
    for (const path of ['/large', '/text', '/early', '/stream', '/header']) {
      const { status, json } = await ask(served, path);
      expect([path, status, typeof json.error.code]).to.deep.equal([path, 500, 'string']);
    }
  });

  it('sends no details of an unexpected error, and logs where it was thrown', async () => {
    const circular: Record<string, unknown> = {};
    circular.self = circular;
    const served = await serve([
      route({ path: '/throws' }, () => {
        throw new TypeError('canary in a message');
      }),
      route({ path: '/circular' }, () => ({ headers: { 'content-type': 'text/html' }, body: circular })),
      route({ path: '/split' }, () => ({ headers: { 'x-bad': 'a\r\nset-cookie: x=1' }, body: {} })),
      route({ path: '/caused' }, () => {
        throw new MortiseError('store_error', 'the store failed', { status: 500, cause: new Error('canary') });
      }),
    ]);
    for (const path of ['/throws', '/circular', '/split']) {
      const answer = await ask(served, path);
      expect(answer.status, path).to.equal(500);
      expect(answer.headers['content-type']).to.equal('application/json');
      expect(answer.headers).to.not.have.property('set-cookie');
      expect(answer.json, path).to.deep.equal({ error: { code: 'internal_error', message: 'internal error' } });
    }
    expect((await ask(served, '/caused')).json.error.code).to.equal('store_error');
    const log = served.lines.join('\n');
    expect(log).not.to.include('canary');
    expect(log).to.include('"type":"TypeError"').and.to.include('answers.test.js');
  });

  it('sends headers that a handler set, on errors too', async () => {
    const served = await serve([
      route({ path: '/set' }, (_, ctx) => {
        ctx.setHeader('X-Turn-Id', 't1');
        ctx.setHeader('X-Correlation-ID', 'mine');
        throw new MortiseError('nope', 'no', { status: 409 });
      }),
    ]);
    const { status, headers } = await ask(served, '/set');
    expect(status).to.equal(409);
    expect(headers['x-turn-id']).to.equal('t1');
    expect(headers['x-correlation-id']).to.match(/^corr-[0-9a-f]{16}$/);
  });

  it('passes query, headers and address to the handler', async () => {
    const served = await serve(
      [
        route({ path: '/r' }, ({ query, headers, remoteAddress, method }) => ({
          body: { tags: query.getAll('tag'), agent: headers['user-agent'], remoteAddress, method },
        })),
      ],
      { trustProxy: true },
    );
    const headers = { 'User-Agent': 'probe', 'X-Forwarded-For': '1.1.1.1, 2.2.2.2' };
    expect((await ask(served, '/r?tag=a&tag=b%20c', { headers })).json).to.deep.equal({
      tags: ['a', 'b c'],
      agent: 'probe',
      remoteAddress: '2.2.2.2',
      method: 'GET',
    });
  });

  it('answers input that is not HTTP with the default envelope', async () => {
    const served = await serve([route({ path: '/x', method: ['GET', 'POST'] }, () => ({ body: {} }))]);
    const head = 'POST /x HTTP/1.1\r\nHost: localhost\r\n';
    for (const [raw, status, code] of [
      ['nonsense\r\n\r\n', 400, 'invalid_request'],
      [`${head}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`, 400, 'invalid_request'],
      [`${head}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}`, 400, 'invalid_request'],
      [`${head}Content-Length: -1\r\n\r\n{}`, 400, 'invalid_request'],
      [`${head}Bad Header: x\r\n\r\n`, 400, 'invalid_request'],
      [`${head}X: ${'y'.repeat(20_000)}\r\n\r\n`, 431, 'headers_too_large'],
    ] as const) {
      const received = await askRaw(served, raw);
      expect(received, raw.slice(0, 80)).to.match(new RegExp(`^HTTP/1.1 ${status} `));
      expect(received).to.match(/\r\nX-Correlation-ID: corr-[0-9a-f]{16}\r\n/);
      expect(JSON.parse(received.slice(received.indexOf('\r\n\r\n') + 4)).error.code).to.equal(code);
    }
    expect((await ask(served, '/x')).status).to.equal(200);
  });

  it('records one log line and two metrics per request, without content of the caller', async () => {
    const metrics = createMetrics({ process: false });
    const served = await serve(
      [route({ path: '/files/*rest', auth: 'key', method: ['GET', 'POST'] }, () => ({ body: { secret: 'canary' } }))],
      { apiKey: 'canary-key' },
      { metrics: metrics.host },
    );
    const headers = { 'x-api-key': 'canary-key', 'x-request-id': 'mine', cookie: 'canary', 'x-nextai-source': 'cli' };
    await ask(served, '/files/canary/x?token=canary', { json: { text: 'canary' }, headers });
    await ask(served, '/canary', { headers: { authorization: 'Bearer canary' } });
    await ask(served, '/files/x', { headers: { 'x-api-key': 'canary-wrong' } });
    const lines = served.lines.map((line) => JSON.parse(line)[0]);
    expect(lines).to.have.length(3);
    expect(lines[0]).to.include({
      method: 'POST',
      path: '/files/*rest',
      status: 200,
      request_id: 'mine',
      source: 'cli',
    });
    expect(lines[0].correlation_id).to.match(/^corr-/);
    expect(lines[0].duration_ms).to.be.a('number');
    expect(lines[1]).to.include({ path: '(unmatched)', status: 404, code: 'not_found' });
    expect(lines[2]).to.include({ status: 401, code: 'unauthorized' });
    const rendered = await metrics.render();
    expect(rendered).to.include('mortise_http_requests_total{route="/files/*rest",method="POST",status="200"} 1');
    expect(rendered).to.match(/mortise_http_duration_seconds_count\{route="\/files\/\*rest",method="GET"\} 1/);
    expect(`${served.lines.join()} ${rendered} ${JSON.stringify(served.refusals)}`).not.to.include('canary');
  });
});
