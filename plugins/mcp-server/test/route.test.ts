import { expect } from 'chai';
import { createTestHost, eachDatabase, routeContract, type TestHost } from 'mortise/sdk/testing';
import { at, postText } from './support.js';

const apiKey = 'an-api-key-0123456789';

routeContract('POST /mcp', {
  host: () => createTestHost({ plugins: ['mcp-server'], env: { MORTISE_API_KEY: apiKey } }),
  key: 'mcp',
  headers: { 'x-api-key': apiKey },
  auth: 'key',
  samples: [
    { method: 'POST', path: '/mcp', body: { jsonrpc: '2.0', id: 1, method: 'ping' }, status: 200 },
    { method: 'POST', path: '/mcp', body: { jsonrpc: '2.0', id: 1, method: 'tools/list' }, status: 200 },
  ],
});

describe('the MCP endpoint for browsers', () => {
  eachDatabase((engine) => {
    let host: TestHost;
    before(async () => {
      host = await createTestHost({ plugins: ['mcp-server'], database: engine.env });
    });
    after(() => host.stop());

    const cors: Readonly<Record<string, string>> = {
      'access-control-allow-origin': '*',
      'access-control-allow-methods': 'POST, OPTIONS',
      'access-control-allow-headers': 'Content-Type, Authorization, Mcp-Session-Id',
      'access-control-expose-headers': 'Mcp-Session-Id, X-Correlation-ID, X-Request-Id',
      'access-control-max-age': '86400',
    };
    const corsOf = (headers: Headers) =>
      Object.fromEntries([...headers].filter(([name]) => name.startsWith('access-control-')));

    it('refuses a foreign origin, with the headers that let the page read the reason', async () => {
      const list = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}';
      const { status, body, headers } = await postText(host, list, { origin: 'http://evil.example' });
      expect(status).to.equal(403);
      expect(body).to.include({ ok: false, reason: 'ORIGIN_NOT_ALLOWED', detail: at(body, 'error') });
      expect(corsOf(headers)).to.deep.equal(cors);
    });

    it('answers a preflight without a body', async () => {
      const response = await fetch(`${host.origin}/mcp`, {
        method: 'OPTIONS',
        headers: {
          'access-control-request-method': 'POST',
          'access-control-request-headers': 'content-type, mcp-method',
        },
      });
      expect([response.status, await response.text()]).to.deep.equal([204, '']);
      const allowed = `${cors['access-control-allow-headers']}, mcp-method`;
      expect(corsOf(response.headers)).to.deep.equal({ ...cors, 'access-control-allow-headers': allowed });
    });
  });
});
