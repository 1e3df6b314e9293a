import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { expect } from 'chai';
import { until } from '../../sdk/testing/until.js';
import { type Answer, ask, askRaw, route, type Served, serve, stopAll } from './serve.js';

const mebibyte = 1024 * 1024;
const mounts = ['default', 'rest', 'rpc', 'typed', 'upload'] as const;
const pathOf = (mount: string) => ({ rpc: '/rpc', typed: '/v1/messages' })[mount] ?? `/${mount}`;

describe('request bodies', () => {
  let served: Served;
  let calls: number;

  beforeEach(async () => {
    calls = 0;
    served = await serve(
      mounts.map((mount) =>
        route({ path: pathOf(mount), method: ['POST', 'GET', 'DELETE'], mount }, (request) => {
          calls += 1;
          const { body, rawBody } = request;
          return { body: { body: body ?? '(undefined)', bytes: rawBody.length } };
        }),
      ),
    );
  });
  afterEach(stopAll);

  const post = (
    mount: string,
    body: string | Uint8Array,
    type: string | null = 'application/json',
    headers = {},
  ): Promise<Answer> =>
    ask(served, pathOf(mount), {
      method: 'POST',
      body,
      headers: { ...(type !== null && { 'content-type': type }), ...headers },
    });

  it('parses JSON, skips a byte order mark, and keeps the bytes', async () => {
    expect((await post('default', '{"a":[1,"é"]}')).json).to.deep.equal({ body: { a: [1, 'é'] }, bytes: 14 });
    expect((await post('default', '\ufeff{"a":1}')).json).to.deep.equal({ body: { a: 1 }, bytes: 10 });
    expect((await post('default', '', null)).json).to.deep.equal({ body: '(undefined)', bytes: 0 });
    expect((await post('default', 'null')).json.body).to.equal('(undefined)');
    expect((await post('default', '{}', 'application/json; charset=utf-8')).status).to.equal(200);
  });

  it('passes the text or the bytes if the mount requires it', async () => {
    expect((await post('rpc', '\ufeff{"id":1}')).json).to.deep.equal({ body: '{"id":1}', bytes: 11 });
    expect((await post('rpc', '{')).json.body).to.equal('{');
    expect((await post('rpc', '')).json.body).to.equal('');
    const form = await post('upload', 'x\xff', 'multipart/form-data; boundary=b');
    expect(form.json).to.deep.equal({ body: '(undefined)', bytes: 3 });
  });

  it('treats member names such as __proto__ as data', async () => {
    const served = await serve([
      route({ path: '/p', method: 'POST' }, (request) => ({
        body: { own: Object.keys(request.body as object), polluted: ({} as Record<string, unknown>).polluted ?? null },
      })),
    ]);
    const body = '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}';
    const answer = await ask(served, '/p', { body, headers: { 'content-type': 'application/json' } });
    expect(answer.json).to.deep.equal({ own: ['__proto__', 'constructor'], polluted: null });
  });

  it('refuses content types in the envelope of each mount', async () => {
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data',
      'application/jsonx',
      null,
    ]) {
      const answer = await post('default', '{}', type);
      expect(answer.status, String(type)).to.equal(415);
      expect(answer.json.error).to.deep.include({
        code: 'unsupported_media_type',
        details: { accepted: ['application/json'] },
        hint: 'Send the body as Content-Type: application/json, without a Content-Encoding.',
      });
    }
    expect((await post('default', '{}', 'application/json', { 'content-encoding': 'gzip' })).status).to.equal(415);
    const upload = await post('upload', '{}');
    expect([upload.status, upload.json.error.details]).to.deep.equal([415, { accepted: ['multipart/form-data'] }]);
    const rest = await post('rest', '{}', null);
    expect(rest.status).to.equal(415);
    expect(Object.keys(rest.json)).to.deep.equal([
      'ok',
      'error',
      'detail',
      'reason',
      'correlation_id',
      'details',
      'hint',
    ]);
    expect(rest.json).to.include({ ok: false, reason: 'UNSUPPORTED_MEDIA_TYPE', error: rest.json.detail });
    expect(rest.json.correlation_id).to.equal(rest.headers['x-correlation-id']);
    expect((await post('rest', '{}', 'application/vnd.x+json')).status).to.equal(200);
    expect((await post('rpc', '{}', null)).status).to.equal(200);
    expect((await post('rpc', '{}', 'text/plain')).status).to.equal(200);
    expect((await post('rpc', '{}', 'text/plain', { origin: 'http://localhost:3000' })).status).to.equal(415);
    expect((await post('rpc', '{}', null, { origin: 'http://localhost:3000' })).status).to.equal(200);
    const claude = await post('typed', '{}', 'text/plain');
    expect(claude.json).to.include({ type: 'error', request_id: claude.headers['x-request-id'] });
    expect(claude.json.error).to.include({ type: 'api_error', code: 'unsupported_media_type' });
  });

  it('refuses broken JSON without quoting it', async () => {
    for (const body of ['{', '{"a":canary}', '[1,]', 'canary', '{"a":1}{"b":2}']) {
      const answer = await post('default', body);
      expect(answer.status, body).to.equal(400);
      expect(answer.json.error).to.include({ code: 'invalid_json', message: 'invalid request body' });
      expect(answer.text).not.to.include('canary');
    }
    expect((await post('rest', '{')).json).to.include({ ok: false, reason: 'PARSE_ERROR' });
    expect((await post('rest', '')).json).to.include({ ok: false, reason: 'PARSE_ERROR' });
    expect((await post('typed', '{')).json.error).to.include({ type: 'invalid_request_error' });
    expect(served.lines.join()).not.to.include('canary');
  });

  it('refuses bytes that are not UTF-8', async () => {
    const bytes = Uint8Array.of(0x22, 0xff, 0x22);
    expect((await post('default', bytes)).json.error.code).to.equal('invalid_json');
    expect((await post('rest', bytes)).json.reason).to.equal('PARSE_ERROR');
    const rpc = await post('rpc', bytes);
    expect(rpc.status).to.equal(400);
    expect(rpc.json).to.not.have.property('id');
    expect(rpc.json.error).to.deep.include({ code: -32700 });
    expect(rpc.json.error.data).to.deep.equal({
      category: 'protocol',
      reason: 'PARSE_ERROR',
      retryable: false,
      correlation_id: rpc.headers['x-correlation-id'],
      details: { parse_error: 'body is not valid UTF-8' },
    });
  });

  it('refuses nesting beyond the limit of the mount, and only that', async () => {
    const nested = (depth: number, open = '[', close = ']') => open.repeat(depth) + close.repeat(depth);
    expect((await post('default', nested(64))).status).to.equal(200);
    const deep = await post('default', nested(65));
    expect(deep.status).to.equal(400);
    expect(deep.json.error).to.include({ code: 'invalid_json' });
    expect((await post('rest', nested(100))).status).to.equal(200);
    expect((await post('rest', nested(101))).json.reason).to.equal('INVALID_REQUEST');
    const rpc = await post('rpc', nested(101, '{"a":', '}').replace(/:}/, ':1}'));
    expect(rpc.json).to.include({ ok: false, reason: 'INVALID_REQUEST' });
    expect((await post('default', nested(2 * mebibyte - 1))).status).to.equal(400);
    const strings = JSON.stringify({ '[[[["\\': `${'['.repeat(500)}\\"${'{'.repeat(500)}"\\` });
    expect((await post('default', strings)).json.body).to.deep.equal(JSON.parse(strings));
  });

  /** Sends a request with `Expect: 100-continue`; `continued`: whether the server asked for the body. */
  const askFirst = (length: number, type: string, body: string): Promise<{ answer: Answer; continued: boolean }> =>
    new Promise((resolve, reject) => {
      let continued = false;
      const request = httpRequest({
        port: served.port,
        path: '/default',
        method: 'POST',
        headers: { 'content-type': type, 'content-length': length, expect: '100-continue' },
      });
      request.on('continue', () => {
        continued = true;
        request.end(body);
      });
      request.on('error', reject);
      request.on('response', (response) => {
        let text = '';
        response.on('data', (chunk) => {
          text += chunk;
        });
        response.on('end', () => {
          const answer = { status: response.statusCode ?? 0, headers: response.headers, text, json: JSON.parse(text) };
          resolve({ answer, continued });
          request.destroy();
        });
      });
      request.flushHeaders();
    });

  it('refuses a body by its announced length or type before it is sent', async () => {
    const large = await askFirst(5 * mebibyte, 'application/json', '');
    expect(large.continued).to.equal(false);
    expect(large.answer.status).to.equal(413);
    expect(large.answer.json).to.deep.equal({
      error: {
        code: 'payload_too_large',
        message: 'the request body is too large',
        details: { max_bytes: 4 * mebibyte },
      },
    });
    const typed = await askFirst(2, 'text/plain', '{}');
    expect([typed.continued, typed.answer.status]).to.deep.equal([false, 415]);
  });

  it('sends 100 Continue once the headers are accepted', async () => {
    const { answer, continued } = await askFirst(7, 'application/json', '{"a":1}');
    expect(continued).to.equal(true);
    expect(answer.json.body).to.deep.equal({ a: 1 });
  });

  it('lets a client that is still sending read the refusal', async () => {
    const length = 3 * mebibyte;
    const socket = connect(served.port, '127.0.0.1');
    let received = '';
    let broken = false;
    socket.on('error', () => {
      broken = true;
    });
    socket.pause();
    socket.on('data', (chunk) => {
      received += chunk;
    });
    socket.pause();
    socket.write(
      `POST /default HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: ${length}\r\n\r\n`,
    );
    const chunk = Buffer.alloc(length / 24);
    for (let sent = 0; sent < length; sent += chunk.length) {
      await new Promise((resolve) => socket.write(chunk, resolve));
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    expect(broken).to.equal(false);
    socket.resume();
    await until('the answer is read', () => received.includes('unsupported_media_type'));
    socket.destroy();
  });

  it('answers a 5 MB body with 413 although it is still being sent', async () => {
    const body = JSON.stringify('x'.repeat(5 * mebibyte));
    expect((await post('default', body)).status).to.equal(413);
    expect((await post('rest', body)).json).to.include({ ok: false, reason: 'PAYLOAD_TOO_LARGE' });
    expect((await post('typed', body)).status).to.equal(200);
    expect((await post('upload', 'x'.repeat(20 * mebibyte + 100), 'multipart/form-data; boundary=x')).status).to.equal(
      200,
    );
    const upload = await post('upload', 'x'.repeat(21 * mebibyte), 'multipart/form-data; boundary=x');
    expect(upload.json.error.details).to.deep.equal({ max_bytes: 20 * mebibyte });
  });

  it('refuses a chunked body at the first byte over the limit', async () => {
    const before = calls;
    const answer = await new Promise<number>((resolve, reject) => {
      const request = httpRequest({
        port: served.port,
        path: '/default',
        method: 'POST',
        headers: { 'content-type': 'application/json', 'transfer-encoding': 'chunked' },
      });
      request.on('response', (response) => {
        resolve(response.statusCode ?? 0);
        request.destroy();
      });
      request.on('error', reject);
      const chunk = Buffer.alloc(256 * 1024, 0x20);
      const feed = setInterval(() => (request.destroyed ? clearInterval(feed) : request.write(chunk)), 1);
      request.on('close', () => clearInterval(feed));
    });
    expect(answer).to.equal(413);
    expect(calls).to.equal(before);
  });

  it('accepts a chunked body without a type only when it is empty', async () => {
    const head = 'POST /default HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n';
    expect(await askRaw(served, `${head}0\r\n\r\n`)).to.match(/^HTTP\/1.1 200 /);
    expect(await askRaw(served, `${head}2\r\n{}\r\n0\r\n\r\n`)).to.match(/^HTTP\/1.1 415 /);
  });

  it('disconnects a client that keeps sending a refused body', async () => {
    const socket = connect(served.port, '127.0.0.1');
    let received = '';
    let closed = false;
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      received += chunk;
    });
    socket.on('close', () => {
      closed = true;
    });
    socket.write('POST /default HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n');
    const chunk = `10000\r\n${'x'.repeat(65_536)}\r\n`;
    let sent = 0;
    while (!closed && sent < 1024 * mebibyte) {
      sent += 65_536;
      if (!socket.write(chunk)) await new Promise((resolve) => socket.once('drain', resolve).once('close', resolve));
    }
    await until('the connection is closed', () => closed);
    expect(received).to.match(/^HTTP\/1.1 415 /);
    expect(received.toLowerCase()).to.include('connection: close');
    expect(sent).to.be.lessThan(64 * mebibyte);
  });

  it('keeps the connection after a small refused body', async () => {
    const piece =
      'POST /default HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello';
    const last = 'GET /default HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n';
    const received = await askRaw(served, piece, last);
    expect(received.match(/HTTP\/1.1 \d+/g)).to.deep.equal(['HTTP/1.1 415', 'HTTP/1.1 200']);
  });

  it('never calls a plugin for a refused body', async () => {
    await post('default', '{');
    await post('default', '{}', 'text/plain');
    await post('default', '['.repeat(300));
    expect(calls).to.equal(0);
  });

  it('applies a limit that follows a setting', async () => {
    const roomy = await serve(
      [route({ path: '/rpc', method: 'POST', mount: 'rpc' }, () => ({ body: 'ok' }))],
      {},
      { setting: () => 4 * mebibyte },
    );
    const body = 'x'.repeat(5 * mebibyte);
    expect((await ask(roomy, '/rpc', { body })).status).to.equal(200);
    expect((await post('rpc', body)).status).to.equal(413);
  });
});
