import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { expect } from 'chai';
import { MortiseError } from '../../sdk/index.js';
import { until } from '../../sdk/testing/until.js';
import type { RouteInvoker } from '../index.js';
import { ask, route, type Served, serve, stopAll } from './serve.js';

const sse = (stream: AsyncIterable<string>) => ({ stream, sse: true });

async function* forever(chunk: string, seen: { sent: number; ended: boolean }) {
  try {
    for (;;) {
      seen.sent += 1;
      yield chunk;
      await new Promise((resolve) => setImmediate(resolve));
    }
  } finally {
    seen.ended = true;
  }
}

const open = (served: Served, path: string): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    get({ port: served.port, path, agent: false }, resolve).on('error', reject);
  });

describe('event streams', () => {
  afterEach(stopAll);

  it('sends the head immediately and each event separately', async () => {
    let proceed: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => {
      proceed = resolve;
    });
    const chunks: string[] = [];
    async function* events() {
      await gate;
      yield 'data: 1\n\n';
      await until('the first event arrived', () => chunks.length > 0);
      yield 'data: [DONE]\n\n';
    }
    const headers = { 'x-accel-buffering': 'yes', 'content-type': 'text/plain' };
    const served = await serve([route({ path: '/s' }, () => ({ ...sse(events()), headers }))]);
    const response = await open(served, '/s');
    expect(response.statusCode).to.equal(200);
    expect(response.headers).to.include({
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache',
      connection: 'keep-alive',
      'x-accel-buffering': 'no',
    });
    response.on('data', (chunk: Buffer) => chunks.push(chunk.toString()));
    proceed();
    await until('the stream has ended', () => response.complete);
    expect(chunks).to.deep.equal(['data: 1\n\n', 'data: [DONE]\n\n']);
  });

  it('answers an error before the stream like any other', async () => {
    const served = await serve([
      route({ path: '/s' }, () => {
        throw new MortiseError('provider_request_failed', 'provider returned status 500', { status: 502 });
      }),
    ]);
    const answer = await ask(served, '/s');
    expect(answer.status).to.equal(502);
    expect(answer.json.error.code).to.equal('provider_request_failed');
  });

  it('disconnects when a stream throws, so that it does not look complete', async () => {
    async function* breaks() {
      yield 'data: 1\n\n';
      throw new Error('canary');
    }
    const served = await serve([route({ path: '/s' }, () => sse(breaks()))]);
    const response = await open(served, '/s');
    let failed = false;
    response.on('error', () => {
      failed = true;
    });
    response.resume();
    await until('the client sees the end', () => failed);
    expect(response.complete).to.equal(false);
    await until('it is logged', () => served.lines.length === 2);
    expect(served.lines.join()).to.include('internal_error').and.not.to.include('canary');
  });

  it('ends an aborted stream that does not end by itself with one error in the envelope of the mount', async () => {
    const aborts: AbortController[] = [];
    let begun = 0;
    const stopping = new MortiseError('plugin_stopping', 'It is being stopped.', { status: 503 });
    const aborted = (path: string, events: (signal: AbortSignal) => AsyncIterable<string>) => {
      const own = new AbortController();
      aborts.push(own);
      const { invoke, ...mounted } = route({ path }, () => {
        begun += 1;
        return sse(events(own.signal));
      });
      const call: RouteInvoker['call'] = (run, options) =>
        (invoke as RouteInvoker).call(run, { ...options, signal: own.signal });
      return { ...mounted, invoke: { call } };
    };
    const served = await serve([
      aborted('/hangs', async function* () {
        yield 'data: 1\n\n';
        yield 'data: half';
        await new Promise(() => undefined);
      }),
      aborted('/goes-on', async function* () {
        for (;;) {
          yield 'data: 1\n\n';
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
      }),
      aborted('/throws', async function* (signal) {
        yield 'data: 1\n\n';
        await once(signal, 'abort');
        throw new Error('canary');
      }),
      aborted('/says-why', async function* (signal) {
        yield 'data: 1\n\n';
        await once(signal, 'abort');
        yield 'event: error\ndata: "own"\n\n';
      }),
    ]);
    const answers = ['/hangs', '/goes-on', '/throws', '/says-why'].map((path) => ask(served, path));
    await until('all streams run', () => begun === 4);
    for (const own of aborts) own.abort(stopping);
    const [hangs, goesOn, throws, saysWhy] = (await Promise.all(answers)).map(({ text }) => text);
    const reason = 'event: error\ndata: {"error":{"code":"plugin_stopping","message":"It is being stopped."}}\n\n';
    expect(hangs).to.equal(`data: 1\n\ndata: half\n\n${reason}`);
    expect(goesOn).to.match(/^(data: 1\n\n)+\n\nevent: error\n[^\n]*\n\n$/);
    expect(throws).to.equal(`data: 1\n\n\n\n${reason}`);
    expect(saysWhy).to.equal('data: 1\n\nevent: error\ndata: "own"\n\n');
  });

  it('sends everything that came before the error', async () => {
    const large = `data: ${'x'.repeat(4 * 1024 * 1024)}\n\n`;
    for (const chunks of [['data: 1\n\n'], ['data: 1\n\n', 'data: 2\n\n'], ['data: 1\n\n', large]]) {
      async function* breaks() {
        yield* chunks;
        throw new Error('canary');
      }
      const served = await serve([route({ path: '/s' }, () => sse(breaks()))]);
      const socket = connect(served.port, '127.0.0.1').setEncoding('utf8');
      let [got, ended] = ['', false];
      socket.on('data', (text) => (got += text)).on('close', () => (ended = true));
      socket.write('GET /s HTTP/1.1\r\nHost: localhost\r\n\r\n');
      await until('the client sees the end', () => ended);
      for (const chunk of chunks) expect(got.includes(chunk)).to.equal(true);
      expect(got.endsWith('\r\n0\r\n\r\n'), 'it looks complete').to.equal(false);
    }
  });

  it('sends comments while the stream is silent', async () => {
    async function* slow() {
      await new Promise((resolve) => setTimeout(resolve, 130));
      yield 'data: 1\n\n';
    }
    const served = await serve([route({ path: '/s' }, () => sse(slow()))], {}, { sseKeepAliveSeconds: 0.05 });
    expect((await ask(served, '/s')).text).to.match(/^(: keep-alive\n\n){1,3}data: 1\n\n$/);
    async function* steady() {
      for (let index = 0; index < 12; index += 1) {
        await new Promise((resolve) => setTimeout(resolve, 150));
        yield '.';
      }
    }
    const busy = await serve([route({ path: '/s' }, () => sse(steady()))], {}, { sseKeepAliveSeconds: 1.5 });
    expect((await ask(busy, '/s')).text).to.equal('.'.repeat(12));
    const quiet = await serve([route({ path: '/s' }, () => sse(slow()))], {}, { sseKeepAliveSeconds: 0 });
    expect((await ask(quiet, '/s')).text).to.equal('data: 1\n\n');
  });

  it('sends the keep-alive text of the route instead of comments, or none', async () => {
    async function* events() {
      await new Promise((resolve) => setTimeout(resolve, 130));
      yield 'data: 1\n\n';
    }
    const served = await serve(
      [
        route({ path: '/ping' }, () => ({ ...sse(events()), keepAlive: 'event: ping\n\n' })),
        route({ path: '/silent' }, () => ({ ...sse(events()), keepAlive: '' })),
      ],
      {},
      { sseKeepAliveSeconds: 0.05 },
    );
    expect((await ask(served, '/ping')).text).to.match(/^(event: ping\n\n){1,3}data: 1\n\n$/);
    expect((await ask(served, '/silent')).text).to.equal('data: 1\n\n');
  });

  it('keeps the content type that a route sets for its events', async () => {
    async function* events() {
      yield 'data: 1\n\n';
    }
    const headers = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-store' };
    const served = await serve([route({ path: '/s' }, () => ({ ...sse(events()), headers }))]);
    expect((await ask(served, '/s')).headers).to.include(headers);
  });

  it('ends with an error in the envelope of the mount when the route asks for it', async () => {
    const served = await serve([
      route({ path: '/s' }, (_, ctx) => {
        async function* events() {
          yield 'data: 1\n\n';
          yield `data: ${JSON.stringify(ctx.errorBody(new MortiseError('broken', 'It broke.')))}\n\n`;
        }
        return sse(events());
      }),
    ]);
    const { text } = await ask(served, '/s');
    expect(text).to.equal('data: 1\n\ndata: {"error":{"code":"broken","message":"It broke."}}\n\n');
  });

  it('returns the iterator and aborts the signal when the client disconnects', async () => {
    const seen = { sent: 0, ended: false };
    let signal: AbortSignal | undefined;
    const served = await serve([
      route({ path: '/s' }, (_, ctx) => {
        signal = ctx.signal;
        return sse(forever('data: x\n\n', seen));
      }),
    ]);
    const response = await open(served, '/s');
    response.once('data', () => response.destroy());
    response.on('error', () => undefined);
    await until('the iterator was returned', () => seen.ended);
    expect(signal?.aborted).to.equal(true);
    expect(signal?.reason).to.include({ code: 'client_closed' });
  });

  it('waits for a slow reader', async () => {
    const seen = { sent: 0, ended: false };
    const chunk = `data: ${'x'.repeat(64 * 1024)}\n\n`;
    const served = await serve([route({ path: '/s' }, () => sse(forever(chunk, seen)))]);
    const socket = connect(served.port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.pause();
    socket.write('GET /s HTTP/1.1\r\nHost: localhost\r\n\r\n');
    let [before, same] = [-1, 0];
    await until('the writer waits', () => {
      same = seen.sent > 0 && seen.sent === before ? same + 1 : 0;
      before = seen.sent;
      return same > 10;
    });
    const stuckAt = seen.sent;
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(seen.sent).to.equal(stuckAt);
    socket.resume();
    await until('the writer continues', () => seen.sent > stuckAt + 20);
    socket.destroy();
    await until('the iterator was returned', () => seen.ended);
  });

  it('disconnects a client that does not read a stream or a large answer', async () => {
    const seen = { sent: 0, ended: false };
    const signals: AbortSignal[] = [];
    const served = await serve(
      [
        route({ path: '/s' }, (_, ctx) => {
          signals.push(ctx.signal);
          return sse(forever(`data: ${'x'.repeat(64 * 1024)}\n\n`, seen));
        }),
        route({ path: '/large' }, () => ({ body: Buffer.alloc(64 * 1024 * 1024) })),
      ],
      {},
      { slowReaderMs: 200 },
    );
    const sockets = ['/s', '/large'].map((path) => {
      const socket = connect(served.port, '127.0.0.1');
      socket.on('error', () => undefined);
      socket.pause();
      return socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`) && socket;
    });
    await until('both are disconnected', () => served.lines.length === 2);
    expect(served.lines.join()).to.match(/slow_reader.*slow_reader/);
    expect(seen.ended).to.equal(true);
    expect(signals[0]?.reason).to.include({ code: 'slow_reader' });
    for (const socket of sockets) if (socket) socket.destroy();
  });

  it('loses and reorders nothing under pressure', async () => {
    async function* numbers() {
      for (let index = 0; index < 20_000; index += 1) yield `data: ${index}\n\n`;
    }
    const served = await serve([route({ path: '/s' }, () => sse(numbers()))]);
    const expected = Array.from({ length: 20_000 }, (_, index) => `data: ${index}\n\n`).join('');
    const answers = await Promise.all([ask(served, '/s'), ask(served, '/s'), ask(served, '/s')]);
    for (const answer of answers) expect(answer.text === expected).to.equal(true);
  });

  it('does not run a stream for HEAD, and streams bytes that are not events', async () => {
    const seen = { sent: 0, ended: false };
    const served = await serve([
      route({ path: '/s' }, () => sse(forever('x', seen))),
      route({ path: '/b' }, () => ({
        headers: { 'content-type': 'image/png', 'content-length': '4' },
        stream: (async function* () {
          yield Uint8Array.of(1, 2);
          yield Uint8Array.of(3, 4);
        })(),
      })),
    ]);
    expect((await ask(served, '/s', { method: 'HEAD' })).headers['content-type']).to.equal('text/event-stream');
    expect(seen.sent).to.equal(0);
    const bytes = await ask(served, '/b');
    expect(bytes.headers).to.include({ 'content-type': 'image/png', 'content-length': '4' });
    expect(bytes.text).to.equal('\u0001\u0002\u0003\u0004');
  });

  it('aborts the signal of a handler whose client disconnects before the answer', async () => {
    let signal: AbortSignal | undefined;
    const served = await serve([
      route({ path: '/wait' }, (_, ctx) => {
        signal = ctx.signal;
        return new Promise((_, reject) => signal?.addEventListener('abort', () => reject(new Error('stopped'))));
      }),
    ]);
    const request = get({ port: served.port, path: '/wait', agent: false });
    request.on('error', () => undefined);
    await until('the handler runs', () => signal !== undefined);
    request.destroy();
    await until('the signal is aborted', () => signal?.aborted === true);
    await until('the request is logged', () => served.lines.length === 2);
    const lines = served.lines.map((line) => JSON.parse(line) as [object, string]);
    expect(lines.find(([, text]) => text === 'request')?.[0]).to.include({ status: 499, code: 'client_closed' });
    // Clients disconnect often: that is not a failure, and is logged without a stack.
    expect(lines.find(([, text]) => text !== 'request')?.[1]).to.equal('a client left');
    expect(served.lines.join()).to.not.contain('frames');
  });
});
