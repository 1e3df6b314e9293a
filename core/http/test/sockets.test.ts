import { get, request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { expect } from 'chai';
import { WebSocket } from 'ws';
import type { Principal, Socket, UpgradeRoute } from '../../sdk/index.js';
import type { SocketAuthentication } from '../../sdk/points/route.js';
import { until } from '../../sdk/testing/until.js';
import { ask, askRaw, invokerOf, route, type Served, serve, stopAll } from './serve.js';

interface Seen {
  sockets: Socket[];
  principals: Principal[];
  frames: (string | Uint8Array)[];
  closed: number[];
  pongs: number;
}

describe('WebSockets', () => {
  let seen: Seen;
  const clients: WebSocket[] = [];

  const echo = (changes: Partial<UpgradeRoute> = {}): UpgradeRoute => ({
    maxFrameBytes: 1024,
    open(socket, ctx) {
      seen.sockets.push(socket);
      seen.principals.push(ctx.principal);
      return {
        message(frame) {
          if (frame === 'throw') throw new Error('canary');
          seen.frames.push(frame);
          if (typeof frame === 'string') socket.send(frame.toUpperCase());
        },
        pong() {
          seen.pongs += 1;
        },
        close(code) {
          seen.closed.push(code);
        },
      };
    },
    ...changes,
  });

  const upgradeRoute = (changes: Partial<UpgradeRoute> = {}, auth: 'public' | 'key' = 'public') =>
    route({ path: '/ws', kind: 'upgrade', auth }, echo(changes));

  const connect = (served: Served, headers: Record<string, string> = {}, path = '/ws'): WebSocket => {
    const client = new WebSocket(`ws://127.0.0.1:${served.port}${path}`, { headers });
    client.on('error', () => undefined);
    clients.push(client);
    return client;
  };

  /** The HTTP answer to a refused upgrade. */
  const refused = (
    served: Served,
    headers: Record<string, string> = {},
    path = '/ws',
  ): Promise<{ status: number; headers: IncomingHttpHeaders; error: Record<string, unknown> }> =>
    new Promise((resolve, reject) => {
      const client = connect(served, headers, path);
      client.on('open', () => reject(new Error('the socket was accepted')));
      client.on('unexpected-response', (_, response) => {
        let text = '';
        response.on('data', (chunk) => {
          text += chunk;
        });
        response.on('end', () => {
          resolve({ status: response.statusCode ?? 0, headers: response.headers, error: JSON.parse(text).error });
        });
      });
    });

  beforeEach(() => {
    seen = { sockets: [], principals: [], frames: [], closed: [], pongs: 0 };
  });
  afterEach(async () => {
    for (const client of clients.splice(0)) client.terminate();
    await stopAll();
  });

  it('carries frames both ways and leases the route until the socket closes', async () => {
    let leased = 0;
    const invoker = invokerOf(echo());
    const served = await serve([
      route({ path: '/ws', kind: 'upgrade' }, echo(), {
        invoke: {
          async call(run, options) {
            leased += 1;
            try {
              return await invoker.call(run, options);
            } finally {
              leased -= 1;
            }
          },
        },
      }),
    ]);
    const client = connect(served);
    const received: string[] = [];
    client.on('message', (data) => received.push(String(data)));
    await until('the socket is open', () => client.readyState === WebSocket.OPEN);
    client.send('hello');
    client.send(Uint8Array.of(1, 2));
    await until('both frames arrived', () => seen.frames.length === 2);
    expect(seen.frames[0]).to.equal('hello');
    expect(Buffer.from(seen.frames[1] ?? '')).to.deep.equal(Buffer.from([1, 2]));
    await until('the answer arrived', () => received.length === 1);
    expect(received).to.deep.equal(['HELLO']);
    seen.sockets[0]?.ping();
    await until('the pong arrived', () => seen.pongs === 1);
    expect(leased).to.equal(1);
    expect(seen.sockets[0]).to.include({ remoteAddress: '127.0.0.1', buffered: 0 });
    client.close(1000);
    await until('the lease is released', () => leased === 0);
    expect(seen.closed).to.deep.equal([1000]);
    expect(JSON.parse(served.lines[0] ?? '')[0]).to.include({ status: 101, path: '/ws', method: 'GET' });
  });

  it('writes the frames of one turn of the event loop at once, in order, also before it closes', async () => {
    const served = await serve([upgradeRoute()]);
    const client = connect(served);
    const received: string[] = [];
    client.on('message', (frame) => received.push(String(frame)));
    await until('the socket is open', () => seen.sockets.length === 1);
    const [socket] = seen.sockets;
    const buffered = (): number => socket?.buffered ?? Number.NaN;
    const words = ['one', 'two', 'three'];
    for (const word of words) socket?.send(word);
    // Each frame has a head of two bytes.
    expect(buffered()).to.equal(words.join('').length + 3 * 2);
    await until('the frames arrived', () => received.length === 3);
    expect(buffered()).to.equal(0);
    socket?.send('last');
    socket?.close(1000, 'done');
    await until('the socket is closed', () => seen.closed.length === 1);
    expect(received).to.deep.equal([...words, 'last']);
  });

  it('closes a socket whose frame is too large, and one whose handler throws', async () => {
    const served = await serve([upgradeRoute()]);
    const codes: number[] = [];
    for (const frame of ['x'.repeat(2000), 'throw']) {
      const client = connect(served);
      client.on('open', () => client.send(frame));
      client.on('close', (code) => codes.push(code));
    }
    const bystander = connect(served);
    await until('both are closed', () => codes.length === 2);
    expect(codes.sort()).to.deep.equal([1009, 1011]);
    await until('the other one is open', () => bystander.readyState === WebSocket.OPEN);
    expect(served.lines.join()).to.not.include('canary');
  });

  it('refuses foreign hosts, foreign origins and wrong keys before the upgrade', async () => {
    const served = await serve([upgradeRoute()], { apiKey: 'k' });
    const host = await refused(served, { host: 'evil.example' });
    expect(host).to.deep.include({ status: 403 });
    expect(host.error.code).to.equal('host_not_allowed');
    expect(host.headers['x-correlation-id']).to.match(/^corr-/);
    const origin = await refused(served, { origin: 'http://evil.example' });
    expect([origin.status, origin.error.code]).to.deep.equal([403, 'origin_not_allowed']);
    const key = await refused(served, { 'x-api-key': 'wrong' });
    expect([key.status, key.error.code]).to.deep.equal([401, 'unauthorized']);
    expect(key.headers['www-authenticate']).to.equal('Bearer realm="mortise"');
    expect(served.refusals.map((refusal) => refusal.reason)).to.deep.equal([
      'host_refused',
      'origin_refused',
      'auth_failed',
    ]);
    expect(seen.sockets).to.have.length(0);
  });

  it('refuses pages of another origin on this machine, unless they are listed or must show a key', async () => {
    const served = await serve([upgradeRoute()], { allowedOrigins: ['http://localhost:5173'] });
    for (const origin of ['http://127.0.0.1:9', 'http://localhost:3000']) {
      const answer = await refused(served, { origin });
      expect([answer.status, answer.error.code], origin).to.deep.equal([403, 'origin_not_allowed']);
    }
    const keyed = await serve([upgradeRoute()], { apiKey: 'k' });
    const welcome = [
      connect(served, { origin: served.origin }),
      connect(served, { origin: 'http://localhost:5173' }),
      connect(keyed, { origin: 'http://localhost:3000' }),
    ];
    await until('all are open', () => welcome.every(({ readyState }) => readyState === WebSocket.OPEN));
  });

  it('requires the key before the upgrade if the manifest requires it', async () => {
    const served = await serve([upgradeRoute({}, 'key')], { apiKey: 'k' });
    expect((await refused(served)).status).to.equal(401);
    const client = connect(served, { authorization: 'Bearer k' });
    await until('the socket is open', () => client.readyState === WebSocket.OPEN);
    expect(seen.principals[0]).to.include({ id: 'default', authenticated: true });
  });

  it('lets a first frame authenticate, and rate limits an address that guesses', async () => {
    let now = 0;
    const served = await serve([upgradeRoute()], { apiKey: 'k' }, { now: () => now });
    const client = connect(served);
    await until('the socket is open', () => seen.sockets.length === 1);
    expect(seen.principals[0]).to.include({ id: 'anonymous', authenticated: false });
    const socket = seen.sockets[0];
    const tries: (SocketAuthentication | undefined)[] = [socket?.authenticate('k')];
    for (let index = 0; index < 6; index += 1) tries.push(socket?.authenticate('guess'));
    expect(tries[0]).to.deep.include({ ok: true });
    expect(tries.slice(1, 6).every((one) => one?.ok === false && one.reason === 'auth_failed')).to.equal(true);
    expect(tries[6]).to.deep.equal({ ok: false, reason: 'rate_limited' });
    const limited = await refused(served, { 'x-api-key': 'guess' });
    expect([limited.status, limited.error.code]).to.deep.equal([429, 'auth_rate_limited']);
    expect(limited.headers['retry-after']).to.equal('300');
    now += 300_001;
    expect(socket?.authenticate('guess')).to.deep.equal({ ok: false, reason: 'auth_failed' });
    expect(served.refusals.filter((refusal) => refusal.reason === 'auth_failed')).to.have.length(6);
    client.close();
  });

  it('accepts a valid key from an address from which others send wrong ones', async () => {
    const principals = [{ key: 'new', id: 'new', claims: {} }];
    const served = await serve([upgradeRoute()], { apiKey: 'k', principals });
    for (let wrong = 0; wrong < 5; wrong += 1) await refused(served, { 'x-api-key': `wrong ${wrong}` });
    expect((await refused(served, { 'x-api-key': 'wrong' })).status).to.equal(429);
    connect(served, { 'x-api-key': 'new' });
    await until('the socket with the key in its headers is open', () => seen.sockets.length === 1);
    expect(seen.principals[0]).to.include({ id: 'new', authenticated: true });
    connect(served);
    await until('the socket without a key is open', () => seen.sockets.length === 2);
    expect(seen.sockets[1]?.authenticate('wrong')).to.deep.equal({ ok: false, reason: 'rate_limited' });
    expect(seen.sockets[1]?.authenticate('k')).to.deep.include({ ok: true });
  });

  it('emits a refusal for a socket on which no caller authenticated', async () => {
    const served = await serve([upgradeRoute()], { apiKey: 'k' });
    connect(served);
    await until('the socket is open', () => seen.sockets.length === 1);
    seen.sockets[0]?.unauthenticated();
    expect(served.refusals).to.have.length(1);
    expect(served.refusals[0]).to.include({ reason: 'auth_failed', subject: 'loopback', target: '/ws' });
  });

  it('counts requests on a socket against the rate of their caller', async () => {
    let now = 0;
    const limits = { apiKey: 'k', rateLimit: { requests: 2, seconds: 2 } };
    const served = await serve([upgradeRoute(), route({ path: '/chats', auth: 'key' }, () => ({ body: [] }))], limits, {
      now: () => now,
    });
    connect(served, { 'x-api-key': 'k' });
    await until('the socket is open', () => seen.sockets.length === 1);
    const [socket] = seen.sockets;
    const [principal] = seen.principals;
    if (!socket || !principal) throw new Error('no socket');
    expect(socket.admit(principal)).to.equal(0);
    expect(await ask(served, '/chats', { headers: { 'x-api-key': 'k' } })).to.include({ status: 200 });
    expect(socket.admit(principal)).to.equal(1_000);
    expect(served.refusals.at(-1)).to.include({ reason: 'rate_limited', subject: 'default', target: '/ws' });
    expect(socket.admit({ ...principal, id: 'another' })).to.equal(0);
    now += 1_000;
    expect(socket.admit(principal)).to.equal(0);
  });

  it('lets the route refuse an upgrade', async () => {
    const served = await serve([
      upgradeRoute({ before: () => ({ status: 409, body: { error: { code: 'full' } } }) }),
      route(
        { path: '/throws', kind: 'upgrade' },
        echo({ before: () => Promise.reject({ code: 'nope', message: 'no', status: 418 }) }),
      ),
    ]);
    expect(await refused(served)).to.deep.include({ status: 409, error: { code: 'full' } });
    expect(await refused(served, {}, '/throws')).to.deep.include({
      status: 418,
      error: { code: 'nope', message: 'no' },
    });
  });

  it('answers an ordinary request to a socket route with 426, and an upgrade of another route with 400', async () => {
    const served = await serve([upgradeRoute(), route({ path: '/chats' }, () => ({ body: [] }))]);
    const plain = await ask(served, '/ws');
    expect(plain.status).to.equal(426);
    expect(plain.headers.upgrade).to.equal('websocket');
    expect(plain.json.error.code).to.equal('upgrade_required');
    expect((await ask(served, '/ws', { method: 'POST' })).status).to.equal(405);
    expect((await refused(served, {}, '/chats')).status).to.equal(400);
    expect((await refused(served, {}, '/nowhere')).status).to.equal(404);
    const bad = 'GET /ws HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n';
    expect(await askRaw(served, bad))
      .to.match(/^HTTP\/1.1 400 /)
      .and.to.include('handshake');
  });

  it('serves a request that only offers another protocol', async () => {
    const served = await serve([route({ path: '/chats' }, () => ({ body: [] }))]);
    const status = await new Promise((resolve, reject) => {
      const headers = { connection: 'Upgrade, HTTP2-Settings', upgrade: 'h2c', 'http2-settings': '' };
      const request = httpRequest({ port: served.port, path: '/chats', headers, agent: false }, (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      request.on('error', reject).end();
    });
    expect(status).to.equal(200);
  });

  it('answers 404 with a hint when the plugin is disabled', async () => {
    const served = await serve([{ ...upgradeRoute(), plugin: 'realtime', enabled: false }]);
    const answer = await refused(served);
    expect([answer.status, answer.error.hint]).to.deep.equal([404, 'plugin realtime is disabled']);
  });

  it('closes sockets with 1001 at the end of a drain', async () => {
    const served = await serve([upgradeRoute()]);
    const client = connect(served);
    const codes: number[] = [];
    client.on('close', (code) => codes.push(code));
    await until('the socket is open', () => client.readyState === WebSocket.OPEN);
    expect(await served.server.drain(Date.now() + 50)).to.equal('degraded');
    await until('the client gets the code', () => codes.length === 1);
    expect(codes).to.deep.equal([1001]);
    let failed = false;
    get({ port: served.port, agent: false }).on('error', () => {
      failed = true;
    });
    await until('the port is closed', () => failed);
  });
});
