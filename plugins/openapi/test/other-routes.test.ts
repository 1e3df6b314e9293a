import { readdirSync, readFileSync } from 'node:fs';
import { copyFile, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';
import { expect } from 'chai';
import { exchangeCheck, readDescription } from 'mortise/contracts/openapi/testing';
import type { PluginManifest } from 'mortise/sdk';
import { type ServerProcess, startServer, temporaryFolder, until } from 'mortise/sdk/testing';
import { methodsOf, pathTemplate } from '../join-parts.js';

const adminKey = 'admin-key-of-the-walk-0123456789';
const checkout = join(import.meta.dirname, '..', '..', '..', '..');

/** The plugins with routes that a new user's first day does not use. */
const owners =
  'openapi admin memory-gateway memory-outbox cron kb gate reflex conversation mcp-server tool-mcp realtime'.split(' ');

/** Routes that succeed only after a failure: the tests of their plugins check their responses. */
const elsewhere = ['POST /mcp-tools/accept', 'POST /memory/outbox/{id}/retry'];

describe('the routes that a first day does not use', () => {
  const check = exchangeCheck(readDescription());
  const called = new Set<string>();
  /** The last answer to a route. */
  const answers = new Map<string, Response>();
  let server: ServerProcess;

  before(async () => {
    // A toggle writes the desired state, which must not change in the checkout.
    const pluginsFile = join(temporaryFolder('other-routes'), 'plugins.json');
    await copyFile(join(checkout, 'plugins.json'), pluginsFile);
    server = await startServer({ env: { MORTISE_PLUGINS_FILE: pluginsFile, GOVERNANCE_ADMIN_KEY: adminKey } });
    await writeFile(join(server.folder, 'heron.md'), '# Heron\n\nThe heron stands in the reeds of the mortise pond.\n');
  });
  after(() => server.dispose());

  const call = async (
    template: string,
    given: { path?: string; body?: unknown; headers?: object; status?: number } = {},
  ) => {
    called.add(template);
    const [method = '', path = ''] = template.split(' ');
    const aborter = new AbortController();
    const { body } = given;
    const response = await server.fetch(given.path ?? path, {
      method,
      signal: aborter.signal,
      headers: {
        'x-admin-key': adminKey,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...given.headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    answers.set(template, response);
    const streams = response.headers.get('content-type')?.startsWith('text/event-stream');
    const text = streams ? '' : await response.clone().text();
    const isExpected = given.status === undefined ? response.ok : response.status === given.status;
    expect(isExpected, `${template}: ${response.status} ${text}`).to.equal(true);
    await check({ method, path: given.path ?? path, body, response });
    if (streams) aborter.abort();
    return (text.startsWith('{') ? JSON.parse(text) : {}) as Record<string, unknown>;
  };

  it('administer the process', async () => {
    await call('GET /openapi.json');
    await call('GET /metrics');
    await call('GET /admin/plugins');
    await call('POST /admin/plugins/plan', { body: { changes: [{ key: 'tui', enabled: false }] } });
    await call('GET /admin/plugins/doctor');
    await call('GET /admin/plugins/doctor', { path: '/admin/plugins/doctor?key=cron' });
    await call('GET /admin/plugins/{key}', { path: '/admin/plugins/gate' });
    const at = '/admin/plugins/text-analysis';
    await call('POST /admin/plugins/{key}/restart', { path: '/admin/plugins/channel-webhook/restart' });
    await call('POST /admin/plugins/{key}/disable', { path: `${at}/disable`, body: {}, status: 409 });
    const tool = '/admin/plugins/tool-mcp';
    await call('POST /admin/plugins/{key}/disable', { path: `${tool}/disable`, body: {} });
    await call('POST /admin/plugins/{key}/enable', { path: `${tool}/enable` });
    await call('POST /admin/plugins/{key}/release', { path: `${at}/release` });
    await call('PATCH /admin/plugins/{key}/config', { path: '/admin/plugins/gate/config', body: {} });
    await call('PUT /admin/plugins/{key}/config', { path: '/admin/plugins/cron/config', body: {} });
    await call('POST /admin/plugins/export');
    await call('GET /admin/commands');
    await call('POST /admin/commands/{key}', { path: '/admin/commands/env-list', body: { args: [] } });
    await call('GET /admin/tree');
    await call('GET /admin/config', { path: '/admin/config?owner=cron' });
    await call('GET /admin/events');
  });

  it('store, find and audit memories', async () => {
    await call('GET /health');
    await call('GET /health', { path: '/health?deep=1' });
    await call('POST /memory/store', { body: { payload_md: 'The heron flies.', target_space: 'private:anna' } });
    await call('POST /memory/query', { body: { query: 'heron' } });
    await call('GET /reliability/report');
    await call('GET /memory/audit', { path: '/memory/audit?operation=memory_store&limit=5' });
    await call('POST /governance/settings/update', {
      body: { team_write_enabled: true, admin_key: adminKey },
    });
    await call('GET /memory/outbox', { path: '/memory/outbox?limit=5' });
  });

  it('run scheduled jobs', async () => {
    const job = {
      id: 'first',
      name: 'First',
      enabled: false,
      task_type: 'text',
      schedule: { type: 'cron', cron: '0 0 1 1 *' },
      text: 'hi',
      dispatch: { channel: 'console', target: { user_id: 'anna', session_id: 's' } },
    };
    const at = '/cron/jobs/first';
    await call('POST /cron/jobs', { body: job });
    await call('GET /cron/jobs');
    await call('GET /cron/jobs', { path: '/cron/jobs?limit=1' });
    await call('GET /cron/jobs/{job_id}', { path: at });
    await call('PUT /cron/jobs/{job_id}', { path: at, body: { ...job, name: 'Renamed' } });
    await call('POST /cron/jobs/{job_id}/pause', { path: `${at}/pause` });
    await call('POST /cron/jobs/{job_id}/resume', { path: `${at}/resume` });
    const run = await call('POST /cron/jobs/{job_id}/run', { path: `${at}/run` });
    await call('GET /cron/jobs/{job_id}/state', { path: `${at}/state` });
    await call('GET /cron/jobs/{job_id}/runs', { path: `${at}/runs?status=succeeded&limit=5` });
    await call('GET /cron/jobs/{job_id}/slots', { path: `${at}/slots?from=2026-01-01T00:00:00Z` });
    await call('GET /cron/runs/{run_id}', { path: `/cron/runs/${run.run_id}` });
    await call('POST /cron/runs/{run_id}/cancel', { path: `/cron/runs/${run.run_id}/cancel` });
    await call('POST /cron/preview', { body: { schedule: job.schedule } });
    await call('GET /cron/events');
    await call('DELETE /cron/jobs/{job_id}', { path: at });
  });

  it('search the knowledge base', async () => {
    const idle = () =>
      until('no job to run', async () => {
        const { items } = (await call('GET /kb/jobs')) as { readonly items: readonly { readonly state: string }[] };
        return items.every(({ state }) => !['queued', 'running'].includes(state));
      });
    // The knowledge base may be making its first index.
    await idle();
    const { job } = await call('POST /kb/refresh', { body: {} });
    const { id: job_id } = job as { readonly id: string };
    await call('GET /kb/jobs/{id}', { path: `/kb/jobs/${job_id}` });
    await call('GET /kb/jobs/{id}/events', { path: `/kb/jobs/${job_id}/events` });
    await idle();
    await call('POST /kb/jobs/{id}/cancel', { path: `/kb/jobs/${job_id}/cancel` });
    await call('POST /kb/search', { body: { query: 'mortise' } });
    const found = await call('GET /kb/search', { path: '/kb/search?q=heron&top_k=1&explain=true' });
    const [hit] = found.results as readonly { readonly chunk_id: string; readonly evidence_ref: string }[];
    await call('GET /kb/chunks/{chunk_id}', { path: `/kb/chunks/${hit?.chunk_id}?query=heron` });
    await call('GET /kb/evidence', { path: `/kb/evidence?ref=${encodeURIComponent(hit?.evidence_ref ?? '')}` });
    await call('GET /kb/sources', { path: '/kb/sources?status=indexed&limit=5' });
    await call('GET /kb/stats');
    await call('GET /kb/health');
    for (const work of ['/kb/repair', '/kb/reindex', '/kb/embeddings/build', '/kb/embeddings/refresh']) {
      await call(`POST ${work}`, { body: {} });
      await idle();
    }
  });

  it('observe and steer the gate', async () => {
    const observation = { source_name: 'walk', payload: { text: 'hi' }, session_key: 'walk' };
    await call('POST /observations', { body: observation });
    await call('POST /gate/explain', { body: observation });
    await call('GET /gate/status');
    await call('GET /gate/sessions');
    await call('GET /gate/pools/{pool}', { path: '/gate/pools/drop' });
    await call('POST /gate/config/reload');
    await call('POST /gate/overrides', {
      body: { overrides: { emergency_mode: true }, ttl_sec: 60, reason: 'walk' },
    });
    await call('POST /observations', {
      path: '/observations?wait=decision',
      body: { ...observation, payload: { text: 'later' } },
    });
    const pool = await call('GET /gate/pools/{pool}', { path: '/gate/pools/sink?limit=5' });
    const [put] = pool.items as readonly { readonly obs_id: string }[];
    await call('POST /gate/pools/{pool}/{obs_id}/release', { path: `/gate/pools/sink/${put?.obs_id}/release` });
    await call('DELETE /gate/overrides/{key}', { path: '/gate/overrides/emergency_mode' });
    await call('DELETE /gate/cooldowns/{adapter}', { path: '/gate/cooldowns/none' });
  });

  it('serve tools to other programs', async () => {
    const accept = 'application/json, text/event-stream';
    const rpc = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };
    await call('POST /mcp', { body: rpc, headers: { accept } });
    await call('GET /mcp', { headers: { accept: 'text/event-stream' } });
    const info = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'walk', version: '1' } };
    await call('POST /mcp', { body: { ...rpc, method: 'initialize', params: info }, headers: { accept } });
    const session = answers.get('POST /mcp')?.headers.get('mcp-session-id') ?? '';
    await call('DELETE /mcp', { headers: { 'mcp-session-id': session } });
    await call('GET /mcp-tools');
  });

  it('open a socket', async () => {
    called.add('GET /ws');
    const headers = {
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
    };
    const status = await new Promise<number | undefined>((done, fail) => {
      request(`${server.origin}/ws`, { headers })
        .on('upgrade', ({ statusCode }, socket) => {
          socket.destroy();
          done(statusCode);
        })
        .on('response', ({ statusCode }) => done(statusCode))
        .on('error', fail)
        .end();
    });
    expect(Object.keys(readDescription().paths['/ws']?.get?.responses ?? {})).to.include(String(status));
    expect(status).to.equal(101);
  });

  it('are all called', () => {
    const declared = readdirSync(join(checkout, 'plugins'))
      .filter((key) => owners.includes(key))
      .map((key) => JSON.parse(readFileSync(join(checkout, 'plugins', key, 'plugin.json'), 'utf8')) as PluginManifest)
      .flatMap(({ permissions }) => permissions?.routes ?? [])
      .flatMap((route) => methodsOf(route).map((method) => `${method} ${pathTemplate(route.path)}`));
    const unused = declared.filter((route) => !called.has(route) && !elsewhere.includes(route));
    expect(unused).to.deep.equal([]);
  });
});
