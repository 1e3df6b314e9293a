import { expect } from 'chai';
import { createHttpServer, type MountedRoute } from '../index.js';
import { ask, askRaw, collectingLog, route, serve, settings, stopAll } from './serve.js';

const whoami = (more: Parameters<typeof route>[0], mount: Partial<MountedRoute> = {}) =>
  route(more, (_, ctx) => ({ body: { principal: ctx.principal } }), mount);

const guarded = (mount = 'default') => [
  whoami({ path: '/open', mount }),
  whoami({ path: '/chats', auth: 'key', mount, method: ['GET', 'POST'] }),
  whoami({ path: '/admin/x', auth: 'admin', mount, method: ['GET', 'POST'] }),
];

describe('ids', () => {
  afterEach(stopAll);

  it('creates a correlation id per request and ignores a sent one', async () => {
    const served = await serve(guarded());
    const headers = { 'x-correlation-id': 'corr-0123456789abcdef' };
    const first = await ask(served, '/open', { headers });
    const second = await ask(served, '/nowhere', { headers });
    for (const { headers: sent } of [first, second]) {
      expect(sent['x-correlation-id']).to.match(/^corr-[0-9a-f]{16}$/);
      expect(sent['x-correlation-id']).not.to.equal('corr-0123456789abcdef');
    }
    expect(first.headers['x-correlation-id']).not.to.equal(second.headers['x-correlation-id']);
  });

  it('echoes a well-formed request id and creates one otherwise', async () => {
    const served = await serve(guarded());
    const echoed = async (id: string) => (await ask(served, '/open', { headers: { 'x-request-id': id } })).headers;
    expect((await echoed('a.B:c_d-1'))['x-request-id']).to.equal('a.B:c_d-1');
    expect((await echoed('x'.repeat(128)))['x-request-id']).to.equal('x'.repeat(128));
    for (const bad of ['has blank', 'x'.repeat(129), 'a/b', 'é']) {
      expect((await echoed(bad))['x-request-id'], bad).to.match(/^req-[0-9a-f]{16}$/);
    }
  });

  it('continues a sent trace and starts a new one otherwise', async () => {
    const served = await serve([route({ path: '/t' }, (_, ctx) => ({ body: ctx.trace }))]);
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    const continued = (await ask(served, '/t', { headers: { traceparent } })).json;
    expect(continued).to.include({ traceId: '4bf92f3577b34da6a3ce929d0e0e4736', sampled: true });
    expect((await ask(served, '/t', { headers: { traceparent: 'nonsense' } })).json.traceId).to.match(/^[0-9a-f]{32}$/);
  });
});

describe('Host and Origin', () => {
  afterEach(stopAll);

  const statusFor = async (served: Awaited<ReturnType<typeof serve>>, headers: Record<string, string>) =>
    (await ask(served, '/open', { headers })).status;

  it('accepts loopback names with any port, the bind host and listed names', async () => {
    const served = await serve(guarded(), { allowedHosts: ['gate.example', 'other.example:8443'] });
    for (const host of [
      'localhost',
      'LOCALHOST:1',
      '127.0.0.1:9',
      '[::1]:80',
      '[::1]',
      'gate.example:1',
      'other.example:8443',
    ]) {
      expect(await statusFor(served, { host }), host).to.equal(200);
    }
    for (const host of [
      'evil.example',
      'localhost.evil.example',
      '127.0.0.2',
      '10.0.0.1',
      'other.example',
      'x@localhost',
      'localhost:8a',
      '[::2]',
    ]) {
      expect(await statusFor(served, { host }), host).to.equal(403);
    }
    expect(await askRaw(served, 'GET /open HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n')).to.match(/ 403 /);
    expect(await askRaw(served, 'GET /open HTTP/1.1\r\nConnection: close\r\n\r\n')).to.include('host_not_allowed');
    expect(await askRaw(served, 'GET /open HTTP/1.0\r\n\r\n')).to.include('host_not_allowed');
    expect(
      await askRaw(served, 'GET /open HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nConnection: close\r\n\r\n'),
    ).to.match(/^HTTP\/1.1 40[03] /);
    const refusal = served.refusals.at(0);
    expect(refusal).to.include({ reason: 'host_refused', subject: 'loopback', target: '/open' });
    expect(refusal?.correlationId).to.match(/^corr-/);
  });

  it('accepts any address literal when it is bound to a wildcard address', async () => {
    const served = await serve(guarded(), { host: '0.0.0.0', apiKey: 'k' });
    expect(await statusFor(served, { host: '192.168.7.7:8088' })).to.equal(200);
    expect(await statusFor(served, { host: '[2001:db8::1]' })).to.equal(200);
    expect(await statusFor(served, { host: 'evil.example' })).to.equal(403);
    const own = { host: '192.168.7.7:8088', origin: 'http://192.168.7.7:5173' };
    expect(await statusFor(served, own)).to.equal(200);
    expect(await statusFor(served, { ...own, origin: 'http://6.6.6.6' })).to.equal(403);
  });

  it('refuses foreign origins and null on every route', async () => {
    const served = await serve(guarded(), { allowedOrigins: ['https://app.example', 'http://dev.example:3000'] });
    for (const origin of [
      'http://localhost:5173',
      'https://127.0.0.1',
      'http://[::1]:1',
      'https://app.example',
      'http://dev.example:3000',
    ]) {
      expect(await statusFor(served, { origin }), origin).to.equal(200);
    }
    for (const origin of [
      'http://evil.example',
      'null',
      'http://app.example',
      'http://dev.example',
      'file://',
      'https://localhost.evil.example',
      'chrome-extension://x',
    ]) {
      expect(await statusFor(served, { origin }), origin).to.equal(403);
    }
    const answer = await ask(served, '/open', { headers: { origin: 'null' } });
    expect(answer.json.error.code).to.equal('origin_not_allowed');
    const headers = { origin: 'http://evil.example', 'access-control-request-method': 'GET' };
    expect((await ask(served, '/open', { method: 'OPTIONS', headers })).status).to.equal(403);
    expect(served.refusals.at(-1)?.reason).to.equal('origin_refused');
  });
});

describe('keys', () => {
  afterEach(stopAll);

  it('requires no key while none is configured', async () => {
    const served = await serve(guarded());
    const answer = await ask(served, '/chats', { headers: { 'x-api-key': 'whatever' } });
    expect(answer.json.principal).to.deep.equal({ id: 'local', authenticated: false, admin: true, loopback: true });
  });

  it('accepts the key in either header and refuses everything else', async () => {
    const served = await serve(guarded(), { apiKey: 'sesame' });
    for (const headers of [
      { 'x-api-key': 'sesame' },
      { authorization: 'Bearer sesame' },
      { authorization: 'bearer sesame' },
      { authorization: 'BEARER  sesame' },
    ]) {
      const answer = await ask(served, '/chats', { headers });
      expect(answer.json.principal, JSON.stringify(headers)).to.include({
        id: 'default',
        authenticated: true,
        admin: false,
      });
    }
    const wrong: Record<string, string>[] = [
      {},
      { 'x-api-key': 'sesam' },
      { 'x-api-key': '' },
      { authorization: 'sesame' },
      { authorization: 'Basic sesame' },
      { authorization: 'Bearer' },
      { cookie: 'key=sesame' },
    ];
    for (const headers of wrong) {
      const answer = await ask(served, '/chats', { headers });
      expect(answer.status, JSON.stringify(headers)).to.equal(401);
      expect(answer.json).to.deep.equal({ error: { code: 'unauthorized', message: 'missing or invalid api key' } });
      expect(answer.headers['www-authenticate']).to.equal('Bearer realm="mortise"');
    }
    expect(served.refusals).to.have.length(wrong.length);
    expect(served.refusals[0]).to.include({ reason: 'auth_failed', subject: 'loopback', target: '/chats' });
    expect((await ask(served, '/chats?key=sesame')).status).to.equal(401);
  });

  it('leaves public routes open, and still identifies the caller', async () => {
    const served = await serve(guarded(), { apiKey: 'sesame' });
    expect((await ask(served, '/open')).json.principal).to.include({
      id: 'anonymous',
      authenticated: false,
      admin: false,
    });
    expect((await ask(served, '/open', { headers: { 'x-api-key': 'wrong' } })).status).to.equal(200);
    const known = await ask(served, '/open', { headers: { 'x-api-key': 'sesame' } });
    expect(known.json.principal).to.include({ id: 'default', authenticated: true });
  });

  it('identifies each configured principal by its key', async () => {
    const principals = [
      { key: 'k1', id: 'ann', actor: 'ann', spaces: ['team:a'], claims: { team: 'x' } },
      { key: 'k2', id: 'root', admin: true, claims: {} },
    ];
    const served = await serve(guarded(), { apiKey: 'k0', principals });
    const principalOf = async (key: string) =>
      (await ask(served, '/chats', { headers: { 'x-api-key': key } })).json.principal as Record<string, unknown>;
    expect(await principalOf('k1')).to.deep.equal({
      id: 'ann',
      actor: 'ann',
      spaces: ['team:a'],
      claims: { team: 'x' },
      admin: false,
      loopback: true,
      authenticated: true,
    });
    expect(await principalOf('k2')).to.include({ id: 'root', admin: true });
    expect(await principalOf('k0')).to.include({ id: 'default', admin: false });
    const refused = await ask(served, '/admin/x', { headers: { 'x-api-key': 'k1' } });
    expect(refused.json.error.code).to.equal('admin_required');
    expect(served.refusals.at(-1)).to.include({ reason: 'admin_required', subject: 'ann', target: '/admin/x' });
  });
});

describe('the admin right', () => {
  afterEach(stopAll);

  const admin = async (changes: Partial<typeof settings>, headers: Record<string, string> = {}) => {
    const served = await serve(guarded(), changes);
    const { status, json } = await ask(served, '/admin/x', { headers });
    return { status, code: json.error?.code, hint: json.error?.hint };
  };

  it('is granted to local callers while no key of any kind is configured', async () => {
    expect(await admin({})).to.include({ status: 200 });
    for (const header of [
      'forwarded',
      'x-forwarded-for',
      'x-forwarded-proto',
      'x-forwarded-host',
      'via',
      'x-real-ip',
      'cf-connecting-ip',
      'true-client-ip',
      'x-original-forwarded-for',
    ]) {
      expect(await admin({}, { [header]: '127.0.0.1' }), header).to.include({ status: 403, code: 'admin_required' });
    }
    expect(await admin({ trustProxy: true }, { 'x-forwarded-for': '127.0.0.1' })).to.include({ status: 403 });
  });

  it('is not granted to pages of another origin on the same machine, which cannot change anything even with a key', async () => {
    const served = await serve(guarded(), { allowedOrigins: ['http://localhost:5173'] });
    const status = async (method: string, origin: string) =>
      (await ask(served, '/admin/x', { method, headers: { origin } })).status;
    expect(await status('POST', served.origin)).to.equal(200);
    expect(await status('POST', 'http://localhost:5173')).to.equal(200);
    for (const origin of ['http://127.0.0.1:9', 'http://localhost:9', `http://localhost:${served.port}`]) {
      expect([await status('GET', origin), await status('POST', origin)], origin).to.deep.equal([403, 403]);
    }
    const keyed = await serve([route({ path: '/admin/x', auth: 'admin', method: 'POST' }, () => ({ body: {} }))], {
      apiKey: 'k',
      adminKey: 'a',
    });
    const headers = { 'x-api-key': 'k', 'x-admin-key': 'a', origin: 'http://localhost:9' };
    const refused = await ask(keyed, '/admin/x', { method: 'POST', headers });
    expect([refused.status, refused.json.error.code]).to.deep.equal([403, 'origin_not_allowed']);
  });

  it('is not needed for other routes, which such pages may change only after a preflight or with a key', async () => {
    const served = await serve(guarded());
    const keyed = await serve(guarded(), { apiKey: 'k' });
    const origin = 'http://localhost:9';
    const status = async (headers: Record<string, string>, method = 'POST', at = served) =>
      (await ask(at, '/chats', { method, headers: { origin, ...headers } })).status;
    expect(await status({})).to.equal(403);
    expect(await status({ 'content-type': 'text/plain' })).to.equal(403);
    expect(await status({ 'content-type': 'multipart/form-data; boundary=x' })).to.equal(403);
    expect(await status({ origin: served.origin })).to.equal(200);
    expect(await status({ 'content-type': 'application/json' })).to.be.oneOf([200, 400]);
    expect(await status({}, 'GET')).to.equal(200);
    expect(await status({ 'x-api-key': 'k' }, 'POST', keyed)).to.equal(200);
  });

  it('is granted to no caller when there is a key and no admin key, with a hint that names the variable', async () => {
    const refused = await admin({ apiKey: 'k' }, { 'x-api-key': 'k' });
    expect(refused).to.include({ status: 403, code: 'admin_required' });
    expect(refused.hint).to.include('GOVERNANCE_ADMIN_KEY');
    expect(await admin({ apiKey: 'k' })).to.include({ status: 401 });
  });

  it('requires the admin key when one is configured', async () => {
    expect(await admin({ adminKey: 'a' })).to.include({ status: 403 });
    expect(await admin({ adminKey: 'a' }, { 'x-admin-key': 'b' })).to.include({ status: 403 });
    expect(await admin({ adminKey: 'a' }, { 'x-admin-key': 'a' })).to.include({ status: 200 });
    expect(await admin({ adminKey: 'a', apiKey: 'k' }, { 'x-admin-key': 'a' })).to.include({ status: 401 });
    expect(await admin({ adminKey: 'a', apiKey: 'k' }, { 'x-admin-key': 'a', 'x-api-key': 'k' })).to.include({
      status: 200,
    });
  });
});

describe('the rate limit', () => {
  afterEach(stopAll);

  it('gives each caller a bucket that refills', async () => {
    let now = 0;
    const principals = [{ key: 'other', id: 'other', claims: {} }];
    const served = await serve(
      guarded(),
      { apiKey: 'k', principals, rateLimit: { requests: 2, seconds: 10 } },
      { now: () => now },
    );
    const status = async (key: string) => (await ask(served, '/chats', { headers: { 'x-api-key': key } })).status;
    expect([await status('k'), await status('k'), await status('k')]).to.deep.equal([200, 200, 429]);
    expect(await status('other')).to.equal(200);
    now += 5_000;
    expect([await status('k'), await status('k')]).to.deep.equal([200, 429]);
    const refused = await ask(served, '/chats', { headers: { 'x-api-key': 'k' } });
    expect(refused.headers['retry-after']).to.equal('5');
    expect(refused.json.error).to.deep.equal({ code: 'rate_limited', message: 'too many requests' });
    expect(served.refusals.at(-1)).to.include({ reason: 'rate_limited', subject: 'default', target: '/chats' });
    expect((await ask(served, '/open')).status).to.equal(200);
  });

  it('counts wrong keys by address, also on public routes', async () => {
    const served = await serve(guarded(), { apiKey: 'k', rateLimit: { requests: 2, seconds: 60 } });
    const status = async (path: string, key: string) =>
      (await ask(served, path, { headers: { 'x-api-key': key } })).status;
    const answers = [await status('/chats', 'x'), await status('/open', 'x'), await status('/chats', 'y')];
    expect(answers).to.deep.equal([401, 200, 429]);
    expect([await status('/chats', 'k'), await status('/open', 'y')]).to.deep.equal([200, 429]);
  });

  it('counts unknown callers by address, the one behind a trusted proxy', async () => {
    const served = await serve(guarded(), { trustProxy: true, rateLimit: { requests: 1, seconds: 60 } });
    const status = async (chain: string) =>
      (await ask(served, '/chats', { headers: { 'x-forwarded-for': chain } })).status;
    expect([await status('1.1.1.1, 9.9.9.9'), await status('2.2.2.2, 9.9.9.9')]).to.deep.equal([200, 429]);
    expect(await status('1.1.1.1')).to.equal(200);
  });
});

describe('a public address without a key', () => {
  afterEach(stopAll);

  it('is refused before anything listens', async () => {
    let code: unknown;
    try {
      await serve([], { host: '0.0.0.0' });
    } catch (error) {
      code = (error as { code?: unknown }).code;
    }
    expect(code).to.equal('public_bind_without_key');
  });

  it('reports a port that is in use', async () => {
    const first = await serve([]);
    let failed: unknown;
    try {
      await serve([], { port: first.port });
    } catch (error) {
      failed = error;
    }
    expect(failed).to.include({ code: 'port_in_use' });
    expect((failed as Error).message).to.include(String(first.port));
  });
});

describe('a server that starts', () => {
  it('calls back once it listens, immediately if it already does, and never after disposal', async () => {
    const server = createHttpServer(settings, { log: collectingLog([]), emitRefusal: () => undefined });
    const called: string[] = [];
    server.service.onListening(() => called.push('before'));
    server.service.onListening(() => called.push('disposed')).dispose();
    expect(called).to.deep.equal([]);
    await server.listen();
    server.service.onListening(() => called.push('after'));
    await server.close();
    expect(called).to.deep.equal(['before', 'after']);
  });
});
