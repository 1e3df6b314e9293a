import { expect } from 'chai';
import { ask, route, serve, stopAll } from './serve.js';

const open = {
  'access-control-allow-origin': '*',
  'access-control-allow-methods': 'POST, OPTIONS',
  'access-control-allow-headers': 'Content-Type, Authorization, Rpc-Session-Id',
  'access-control-expose-headers': 'Rpc-Session-Id, X-Correlation-ID, X-Request-Id',
  'access-control-max-age': '86400',
};

const routes = [
  route({ path: '/chats', auth: 'key', method: ['GET', 'POST'] }, () => ({ body: [] })),
  route({ path: '/rpc', auth: 'key', method: ['GET', 'POST', 'DELETE'], mount: 'rpc' }, () => ({ body: {} })),
  route({ path: '/memory/store', auth: 'key', method: 'POST', mount: 'rest' }, () => ({ body: {} })),
  route({ path: '/*rest', kind: 'static' }, { folder: '/nonexistent' }),
];

const corsNames = (headers: object) => Object.keys(headers).filter((name) => name.startsWith('access-control-'));

describe('CORS', () => {
  afterEach(stopAll);

  it('sends the same headers on every answer of /rpc, refusals too', async () => {
    const served = await serve(routes, { apiKey: 'k' });
    const key = { 'x-api-key': 'k' };
    const answers = [
      await ask(served, '/rpc', { method: 'POST', body: '{}', headers: key }),
      await ask(served, '/rpc', { method: 'POST', body: '{}' }),
      await ask(served, '/rpc', { method: 'PUT', headers: key }),
      await ask(served, '/rpc/deeper', { headers: key }),
      await ask(served, '/rpc', { method: 'POST', headers: { ...key, origin: 'http://evil.example' } }),
      await ask(served, '/rpc', { method: 'POST', body: 'x'.repeat(5_000_000), headers: key }),
      await ask(served, '/rpc', { method: 'POST', body: Uint8Array.of(0xff), headers: key }),
    ];
    expect(answers.map((answer) => answer.status)).to.deep.equal([200, 401, 405, 404, 403, 413, 400]);
    for (const answer of answers) expect(answer.headers, String(answer.status)).to.include(open);
    for (const answer of answers.slice(1, 6)) {
      expect(answer.json).to.include({ ok: false, error: answer.json.detail });
      expect(answer.json.reason).to.match(/^[A-Z_]+$/);
    }
  });

  it('answers the preflight of /rpc without a key, and allows the requested method and headers', async () => {
    const served = await serve(routes, { apiKey: 'k' });
    const preflight = (headers: Record<string, string>) => ask(served, '/rpc', { method: 'OPTIONS', headers });
    const plain = await preflight({ 'access-control-request-method': 'POST' });
    expect(plain.status).to.equal(204);
    expect(plain.text).to.equal('');
    expect(plain.headers).to.include(open);
    const asked = await preflight({
      'access-control-request-method': 'DELETE',
      'access-control-request-headers': 'content-type, x-api-key,X-API-Key, bad header, mcp-protocol-version',
    });
    expect(asked.headers['access-control-allow-methods']).to.equal('POST, OPTIONS, DELETE');
    expect(asked.headers['access-control-allow-headers']).to.equal(
      'Content-Type, Authorization, Rpc-Session-Id, x-api-key, mcp-protocol-version',
    );
    const admin = await preflight({
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'X-Admin-Key',
    });
    expect(admin.headers['access-control-allow-headers']).to.equal('Content-Type, Authorization, Rpc-Session-Id');
    const many = Array.from({ length: 100 }, (_, index) => `x-${index}`).join(',');
    const bounded = await preflight({
      'access-control-request-method': 'POST',
      'access-control-request-headers': many,
    });
    expect(String(bounded.headers['access-control-allow-headers']).split(',')).to.have.length(3 + 32);
    const bare = await preflight({});
    expect(bare.status).to.equal(200);
    expect(bare.json).to.deep.equal({ ok: true, correlation_id: bare.headers['x-correlation-id'] });
    expect(
      (await preflight({ origin: 'http://evil.example', 'access-control-request-method': 'POST' })).status,
    ).to.equal(403);
  });

  it('opens the other routes to listed origins only', async () => {
    const served = await serve(routes, { apiKey: 'k', allowedOrigins: ['https://app.example'] });
    const headers = { origin: 'https://app.example', 'x-api-key': 'k' };
    const listed = await ask(served, '/chats', { headers });
    expect(listed.headers).to.include({
      'access-control-allow-origin': 'https://app.example',
      'access-control-allow-methods': 'GET,POST,PUT,PATCH,DELETE,OPTIONS',
      'access-control-allow-headers':
        'Content-Type,Authorization,X-API-Key,X-Admin-Key,X-Request-Id,X-Correlation-ID,X-NextAI-Source,Idempotency-Key,Last-Event-ID',
      'access-control-expose-headers':
        'X-Correlation-ID,X-Request-Id,X-Turn-Id,X-Next-Cursor,X-Trace-Id,X-Gate-Action,X-Idempotent-Replay,Retry-After',
      vary: 'Origin',
    });
    const refused = await ask(served, '/chats', { headers: { origin: 'https://app.example' } });
    expect(refused.status).to.equal(401);
    expect(refused.headers['access-control-allow-origin']).to.equal('https://app.example');
    const preflight = await ask(served, '/chats', { method: 'OPTIONS', headers: { origin: 'https://app.example' } });
    expect(preflight.status).to.equal(204);
    expect(preflight.headers['access-control-allow-origin']).to.equal('https://app.example');
    const local = await ask(served, '/chats', { headers: { ...headers, origin: 'http://localhost:5173' } });
    expect(local.status).to.equal(200);
    expect(corsNames(local.headers)).to.deep.equal([]);
    const rest = await ask(served, '/memory/store', { json: {}, headers });
    expect(rest.status).to.equal(200);
    expect(corsNames(rest.headers)).to.deep.equal([]);
  });

  it('does not let a plugin change the headers of an open mount', async () => {
    const headers = { 'access-control-allow-origin': 'https://evil.example', 'x-correlation-id': 'mine' };
    const served = await serve([route({ path: '/rpc', mount: 'rpc' }, () => ({ headers, body: {} }))]);
    const answer = await ask(served, '/rpc');
    expect(answer.headers).to.include(open);
    expect(answer.headers['x-correlation-id']).to.match(/^corr-[0-9a-f]{16}$/);
  });
});
