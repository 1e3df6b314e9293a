import { request } from 'node:http';
import { expect } from 'chai';
import { type ServerProcess, startServer } from 'mortise/sdk/testing';

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: { readonly error?: unknown; readonly [member: string]: unknown };
}

/** `fetch` refuses to send a foreign Host header. */
function send(
  origin: string,
  method: string,
  path: string,
  headers: Record<string, string>,
  body = '',
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const outgoing = request(`${origin}${path}`, { method, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          body: JSON.parse(text || '{}') as Answer['body'],
        }),
      );
    });
    // A body that is refused early is not read to its end.
    outgoing.on('error', (error: NodeJS.ErrnoException) => (error.code === 'EPIPE' ? undefined : reject(error)));
    outgoing.end(body);
  });
}

const json = { 'content-type': 'application/json' };
const big = JSON.stringify({ text: 'x'.repeat(5 * 1024 * 1024) });

describe('bad input', () => {
  let server: ServerProcess;

  before(async () => {
    server = await startServer({ env: { MORTISE_API_KEY: 'right-key-0123456789' } });
  });
  after(() => server.dispose());

  const key = { 'x-api-key': 'right-key-0123456789' };
  const rows: {
    what: string;
    method?: string;
    headers: Record<string, string>;
    body?: string;
    agent: [number, string];
    memory: [number, string];
  }[] = [
    {
      what: 'malformed JSON',
      headers: { ...json, ...key },
      body: '{"a":',
      agent: [400, 'invalid_json'],
      memory: [400, 'PARSE_ERROR'],
    },
    {
      what: 'a wrong content type',
      headers: { 'content-type': 'text/plain', ...key },
      body: '{}',
      agent: [415, 'unsupported_media_type'],
      memory: [415, 'UNSUPPORTED_MEDIA_TYPE'],
    },
    {
      what: 'a body of 5 MiB',
      headers: { ...json, ...key },
      body: big,
      agent: [413, 'payload_too_large'],
      memory: [413, 'PAYLOAD_TOO_LARGE'],
    },
    {
      what: 'a foreign Host',
      headers: { ...json, ...key, host: 'evil.example' },
      body: '{}',
      agent: [403, 'host_not_allowed'],
      memory: [403, 'HOST_NOT_ALLOWED'],
    },
    {
      what: 'a foreign Origin',
      headers: { ...json, ...key, origin: 'http://evil.example' },
      body: '{}',
      agent: [403, 'origin_not_allowed'],
      memory: [403, 'ORIGIN_NOT_ALLOWED'],
    },
    { what: 'no key', headers: { ...json }, body: '{}', agent: [401, 'unauthorized'], memory: [401, 'AUTH_FAILED'] },
    {
      what: 'a wrong key',
      headers: { ...json, 'x-api-key': 'wrong-key-0123456789' },
      body: '{}',
      agent: [401, 'unauthorized'],
      memory: [401, 'AUTH_FAILED'],
    },
    {
      what: 'a wrong method',
      method: 'DELETE',
      headers: { ...key },
      agent: [405, 'method_not_allowed'],
      memory: [405, 'METHOD_NOT_ALLOWED'],
    },
  ];

  for (const { what, method = 'POST', headers, body, agent, memory } of rows) {
    it(`answers ${what} with its status and the envelope of each API`, async () => {
      const one = await send(server.origin, method, '/agent/process', headers, body);
      expect([one.status, (one.body.error as { code: string }).code]).to.deep.equal(agent);
      expect(one.headers['x-correlation-id']).to.match(/^corr-[0-9a-f]{16}$/);
      const other = await send(server.origin, method, '/memory/store', headers, body);
      expect([other.status, other.body.reason]).to.deep.equal(memory);
      expect(other.body).to.include({ ok: false, correlation_id: other.headers['x-correlation-id'] });
    });
  }

  it('answers an unknown route with 404 and JSON', async () => {
    for (const path of ['/nope', '/.well-known/oauth-authorization-server']) {
      const { status, body } = await send(server.origin, 'GET', path, key);
      expect([status, (body.error as { code: string; message: string }).code]).to.deep.equal([404, 'not_found']);
    }
  });

  it('refuses admin actions with only an API key, and names the missing variable', async () => {
    const { status, body } = await send(
      server.origin,
      'POST',
      '/admin/plugins/agent/disable',
      { ...json, ...key },
      '{}',
    );
    const error = body.error as { code: string; message: string; hint?: string };
    expect([status, error.code]).to.deep.equal([403, 'admin_required']);
    expect(`${error.message} ${error.hint ?? ''}`).to.contain('GOVERNANCE_ADMIN_KEY');
  });

  it('keeps answering after all bad requests', async () => {
    const { status } = await send(server.origin, 'GET', '/healthz', {});
    expect(status).to.equal(200);
  });
});
