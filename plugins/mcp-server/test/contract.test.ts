import { createTestHost, routeContract } from 'mortise/sdk/testing';

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
