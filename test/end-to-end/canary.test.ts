import { expect } from 'chai';
import { type ServerProcess, startServer } from 'mortise/sdk/testing';

/** Secrets that must never appear in logs or metrics. */
const secrets = {
  apiKey: 'sk-canary-A1b2C3d4E5f6G7h8',
  adminKey: 'adm-canary-Z9y8X7w6V5',
  wrongKey: 'sk-canary-wrong-Q1w2E3r4',
  database: 'canary-dsn-password',
};
const text = 'canarymessage walks into the harbour at midnight';

describe('message texts and secrets', () => {
  let server: ServerProcess;

  before(async () => {
    server = await startServer({
      env: { MORTISE_API_KEY: secrets.apiKey, GOVERNANCE_ADMIN_KEY: secrets.adminKey, MORTISE_LOG_LEVEL: 'trace' },
    });
  });
  after(() => server.dispose());

  it('are in no log line and no metric, whichever endpoint receives them', async () => {
    const key = { 'x-api-key': secrets.apiKey };
    const endpoints: [string, unknown, Record<string, string>][] = [
      [
        '/agent/process',
        {
          session_id: 's',
          user_id: 'u',
          input: [{ role: 'user', type: 'message', content: [{ type: 'text', text }] }],
        },
        key,
      ],
      [
        '/agent/process',
        {
          session_id: text,
          user_id: 'u',
          stream: true,
          input: [{ role: 'user', type: 'message', content: [{ type: 'text', text }] }],
        },
        key,
      ],
      ['/agent/process', { session_id: 's', input: text }, key],
      ['/chats', { name: text, session_id: 's2', user_id: 'u', channel: 'console' }, key],
      [
        '/mcp',
        {
          jsonrpc: '2.0',
          id: 1,
          method: 'tools/call',
          params: { name: 'memory_store', arguments: { payload_md: text, target_space: 'private:me' } },
        },
        key,
      ],
      [
        '/mcp',
        {
          jsonrpc: '2.0',
          id: 2,
          method: 'tools/call',
          params: { name: 'memory_store', arguments: { payload_md: 7, target_space: text } },
        },
        key,
      ],
      ['/mcp', { jsonrpc: '2.0', id: 3, method: text }, key],
      ['/mcp', { tool: text, arguments: {} }, key],
      ['/memory/store', { payload_md: text, target_space: 'team:default', admin_key: secrets.adminKey }, key],
      ['/memory/query', { query: text, spaces: ['private:me'] }, key],
      ['/admin/plugins/mcp-server/enable', {}, { ...key, 'x-admin-key': secrets.wrongKey }],
      ['/mcp', { jsonrpc: '2.0', id: 4, method: 'ping' }, { 'x-api-key': secrets.wrongKey }],
      [
        `/nowhere/${encodeURIComponent(text)}?key=${secrets.apiKey}`,
        { text },
        { authorization: `Bearer ${secrets.apiKey}` },
      ],
    ];
    for (const [path, body, headers] of endpoints) {
      const response = await server.post(path, body, headers);
      await response.text();
      expect(response.status, path).to.be.below(500);
    }
    const broken = await server.fetch('/agent/process', {
      method: 'POST',
      headers: { ...key, 'content-type': 'application/json' },
      body: `{"session_id":"${text}`,
    });
    expect(broken.status).to.equal(400);
    const metrics = await (await server.fetch('/metrics', { headers: key })).text();
    const config = await (
      await server.fetch('/admin/config', { headers: { ...key, 'x-admin-key': secrets.adminKey } })
    ).text();
    expect(metrics).to.contain('mortise_http_requests_total');
    expect(server.output()).to.contain('/agent/process');
    for (const [where, content] of [
      ['log', server.output()],
      ['metrics', metrics],
      ['configuration', config],
    ] as const) {
      expect(content, where).not.to.contain('canarymessage');
      for (const secret of Object.values(secrets)) expect(content, where).not.to.contain(secret);
    }
  });
});
