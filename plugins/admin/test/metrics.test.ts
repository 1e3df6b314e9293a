import { expect } from 'chai';
import { createTestHost, type TestHost } from 'mortise/sdk/testing';
import { codeOf, get, made } from './support.js';

const apiKey = 'an-api-key-0123456789';
const key = { 'x-api-key': apiKey };

describe('GET /metrics', () => {
  let host: TestHost;
  before(async () => {
    host = await createTestHost({
      plugins: ['admin', 'logbook', 'conversation', 'sessions', 'agent'],
      extra: [made('one')],
      env: { MORTISE_API_KEY: apiKey },
    });
  });
  after(() => host.stop());

  it('needs the key when one is set', async () => {
    const refused = await get(host, '/metrics');
    expect([refused.status, codeOf(refused)]).to.deep.equal([401, 'unauthorized']);
    expect((await get(host, '/metrics', { 'x-api-key': 'wrong-key-0123456789' })).status).to.equal(401);
  });

  it('needs no key while none is set', async () => {
    const open = await createTestHost({ plugins: ['admin'] });
    try {
      expect((await open.fetch('/metrics')).status).to.equal(200);
    } finally {
      await open.stop();
    }
  });

  it('renders the metrics of the platform in the Prometheus format', async () => {
    await host.fetch('/version');
    const response = await host.fetch('/metrics', { headers: key });
    expect(response.headers.get('content-type')).to.equal('text/plain; version=0.0.4; charset=utf-8');
    const text = await response.text();
    for (const line of text.split('\n').filter((one) => one !== ''))
      expect(line, line).to.match(/^(# (HELP|TYPE) \S+ .+|[a-z_][a-z0-9_]*(\{.*\})? [-+0-9.eE]+(nan|inf)?)$/i);
    const labelled = (name: string, ...labels: readonly string[]) =>
      expect(text, name).to.match(
        new RegExp(`^${name}\\{${labels.map((label) => `${label}="[^"]*"`).join(',')}\\} `, 'm'),
      );
    labelled('mortise_http_requests_total', 'route', 'method', 'status');
    labelled('mortise_http_duration_seconds_count', 'route', 'method');
    labelled('mortise_point_calls_total', 'point', 'key', 'plugin', 'outcome');
    labelled('mortise_point_duration_seconds_count', 'point', 'key', 'plugin');
    labelled('mortise_point_inflight', 'point', 'key', 'plugin');
    labelled('mortise_db_pool', 'state');
    expect(text).to.contain('mortise_plugin_state{key="one",state="active"} 1');
    for (const name of [
      'mortise_sessions_active',
      'mortise_turns_total',
      'mortise_turn_first_token_seconds',
      'mortise_audit_rows_total',
    ])
      expect(text, name).to.contain(`# TYPE ${name} `);
    for (const name of ['nodejs_eventloop_lag_seconds', 'process_cpu_seconds_total', 'process_resident_memory_bytes'])
      expect(text, name).to.contain(`# TYPE ${name} `);
  });

  it('labels routes by their pattern, never by the requested path', async () => {
    await host.fetch('/admin/plugins/kanarienvogel', { headers: key });
    await host.fetch('/kanarienvogel?kanarienvogel=1', { headers: key });
    const text = await (await host.fetch('/metrics', { headers: key })).text();
    expect(text).to.contain('route="/admin/plugins/:key"').and.not.to.contain('kanarienvogel');
  });

  it('removes a plugin’s metrics with the plugin', async () => {
    await host.control.disable('agent');
    const text = await (await host.fetch('/metrics', { headers: key })).text();
    expect(text).not.to.contain('mortise_turns_total');
    expect(text).to.contain('mortise_plugin_state{key="agent",state="disabled"} 1');
    await host.control.enable('agent');
  });
});
