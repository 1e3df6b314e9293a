import { Agent, get, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { expect } from 'chai';
import type { CallContext } from '../../sdk/index.js';
import { until } from '../../sdk/testing/until.js';
import { ask, askRaw, route, type Served, serve, settings, stopAll } from './serve.js';

describe('shutdown', () => {
  afterEach(stopAll);

  const open = (served: Served, path: string, agent: Agent | false = false): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      get({ host: '127.0.0.1', port: served.port, path, agent }, resolve).on('error', reject);
    });

  it('waits for requests in flight and answers new ones on open connections with 503', async () => {
    let finish: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => {
      finish = resolve;
    });
    let running = false;
    const served = await serve([
      route({ path: '/slow' }, async () => {
        running = true;
        await gate;
        return { body: 'done' };
      }),
      route({ path: '/chats' }, () => ({ body: [] })),
      route({ path: '/rpc', method: 'POST', mount: 'rpc' }, () => ({ body: {} })),
    ]);
    const idle = connect(served.port, '127.0.0.1');
    let received = '';
    idle.on('data', (chunk) => {
      received += chunk;
    });
    idle.write('GET /chats HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await until('the connection is open and idle', () => received.includes('[]'));
    const slow = ask(served, '/slow');
    await until('the slow request runs', () => running);
    const drained = served.server.drain(Date.now() + 5_000);
    expect(served.server.service.draining).to.equal(true);
    received = '';
    idle.write('POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}');
    await until('the refusal arrived', () => received.includes('\r\n\r\n') && received.endsWith('}'));
    expect(received).to.match(/^HTTP\/1.1 503 /);
    expect(received.toLowerCase())
      .to.include('\r\nconnection: close\r\n')
      .and.to.include('access-control-allow-origin: *');
    expect(JSON.parse(received.slice(received.indexOf('\r\n\r\n') + 4))).to.include({
      ok: false,
      reason: 'SHUTTING_DOWN',
    });
    let refused = false;
    get({ port: served.port, agent: false }).on('error', () => {
      refused = true;
    });
    await until('new connections are refused', () => refused);
    finish();
    expect(await slow).to.include({ status: 200, text: 'done' });
    expect(await drained).to.equal('clean');
  });

  it('answers on open connections until it is closed, while plugins finish what they have accepted', async () => {
    const served = await serve([route({ path: '/chats' }, () => ({ body: [] }))]);
    const kept = connect(served.port, '127.0.0.1');
    let received = '';
    kept.on('data', (chunk) => {
      received += chunk;
    });
    kept.write('GET /chats HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await until('the connection is open and idle', () => received.includes('[]'));
    expect(await served.server.drain(Date.now() + 5_000)).to.equal('clean');
    received = '';
    kept.write('GET /chats HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await until('the refusal arrived', () => received.includes('shutting_down'));
    expect(received).to.match(/^HTTP\/1.1 503 /);
    expect(received.toLowerCase()).to.include('\r\nretry-after: 1\r\n').and.to.include('\r\nconnection: close\r\n');
    const other = connect(served.port, '127.0.0.1');
    let refused = false;
    other.on('error', () => {
      refused = true;
    });
    await until('new connections are refused', () => refused);
    await served.server.close();
    kept.destroy();
  });

  it('ends immediately when no request is in flight, even with idle connections', async () => {
    const served = await serve([route({ path: '/chats' }, () => ({ body: [] }))]);
    const agent = new Agent({ keepAlive: true });
    (await open(served, '/chats', agent)).resume();
    const started = Date.now();
    expect(await served.server.drain(Date.now() + 30_000)).to.equal('clean');
    await served.server.close();
    expect(Date.now() - started).to.be.lessThan(15_000);
    agent.destroy();
  });

  it('aborts remaining requests at the deadline, lets them answer, and disconnects the others', async () => {
    const signals: AbortSignal[] = [];
    const listening = (ctx: CallContext) => {
      signals.push(ctx.signal);
      return new Promise<void>((resolve) => ctx.signal.addEventListener('abort', () => resolve(), { once: true }));
    };
    const served = await serve([
      route({ path: '/polite' }, (_, ctx) => ({
        sse: true,
        stream: (async function* () {
          yield 'data: 1\n\n';
          await listening(ctx);
          yield `data: ${(ctx.signal.reason as { code: string }).code}\n\n`;
          yield 'data: [DONE]\n\n';
        })(),
      })),
      route({ path: '/deaf' }, (_, ctx) => {
        void listening(ctx);
        return new Promise(() => undefined);
      }),
      route({ path: '/stuck' }, (_, ctx) => ({
        sse: true,
        stream: (async function* () {
          yield 'data: 1\n\n';
          void listening(ctx);
          await new Promise(() => undefined);
        })(),
      })),
    ]);
    const polite = ask(served, '/polite');
    const deaf = ask(served, '/deaf');
    const stuck = ask(served, '/stuck');
    await until('all three run', () => signals.length === 3);
    const started = Date.now();
    expect(await served.server.drain(Date.now() + 100)).to.equal('degraded');
    expect(Date.now() - started).to.be.within(1_000, 15_000);
    expect((await polite).text).to.equal('data: 1\n\ndata: server_shutdown\n\ndata: [DONE]\n\n');
    expect(await deaf).to.include({ status: 503 });
    // Expected at a stop: it is part of the request's log line, not an error.
    expect(served.lines.filter((line) => line.includes('a request failed'))).to.deep.equal([]);
    expect((await deaf).json.error.code).to.equal('server_shutdown');
    expect((await stuck).text).to.match(/^data: 1\n\n\s*event: error\ndata: \{"error":\{"code":"server_shutdown",/);
  });

  it('answers 408 to clients that send too slowly', async () => {
    const timeouts = { ...settings.timeouts, readHeader: 0.2, read: 0.6 };
    const served = await serve([route({ path: '/x', method: 'POST' }, () => ({ body: {} }))], { timeouts });
    const late = await askRaw(served, 'POST /x HTTP/1.1\r\nHost: loc');
    expect(late)
      .to.match(/^HTTP\/1.1 408 /)
      .and.to.include('request_timeout');
    const head = 'POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{';
    const slow = await askRaw(served, head);
    expect(slow)
      .to.match(/^HTTP\/1.1 408 /)
      .and.to.include('request_timeout');
  });

  it('closes idle connections, and answers that take too long to send', async () => {
    const timeouts = { ...settings.timeouts, idle: 0.1, write: 0.2 };
    const served = await serve(
      [
        route({ path: '/x' }, () => ({ body: {} })),
        route({ path: '/huge' }, () => ({ body: Buffer.alloc(64 * 1024 * 1024) })),
      ],
      { timeouts },
    );
    expect(await askRaw(served, 'GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n')).to.match(/^HTTP\/1.1 200 /);
    const socket = connect(served.port, '127.0.0.1');
    socket.pause();
    socket.on('error', () => undefined);
    socket.write('GET /huge HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await until('the slow answer is cut off', () => served.lines.length === 2);
    expect(served.lines[1]).to.include('write_timeout');
    socket.destroy();
  });

  it('may be closed twice', async () => {
    const served = await serve([]);
    await served.server.close();
    await served.server.close();
  });
});
