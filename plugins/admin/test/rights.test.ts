import { request } from 'node:http';
import { expect } from 'chai';
import type { AuditRow } from 'mortise/contracts/logbook';
import type { PluginPlan } from 'mortise/sdk';
import { createTestHost, type TestHost, until } from 'mortise/sdk/testing';
import { codeOf, get, made, type Refused, rowOf, send } from './support.js';

const apiKey = 'an-api-key-0123456789';
const adminKey = 'an-admin-key-0123456789';
const change = '/admin/plugins/one/restart';

async function audited(host: TestHost, where: (row: AuditRow) => boolean): Promise<AuditRow | undefined> {
  return (await host.service('audit').query({ limit: 100 })).rows.find(where);
}

describe('the rights of the admin routes', () => {
  let host: TestHost;
  afterEach(() => host.stop());
  const open = async (env: Record<string, string>): Promise<void> => {
    host = await createTestHost({ plugins: ['admin', 'logbook'], extra: [made('one')], env });
  };
  const as = (headers: Record<string, string>) => send<Refused>(host, change, {}, { headers });

  it('are granted to all loopback callers while no key is set', async () => {
    await open({});
    expect((await as({})).status).to.equal(200);
  });

  it('are not granted to requests through a proxy', async () => {
    await open({});
    for (const header of ['forwarded', 'x-forwarded-for', 'x-forwarded-proto', 'x-forwarded-host']) {
      const refused = await as({ [header]: header === 'forwarded' ? 'for=127.0.0.1' : '127.0.0.1' });
      expect([header, refused.status, codeOf(refused)]).to.deep.equal([header, 403, 'admin_required']);
      expect(refused.body.error.hint).to.contain('GOVERNANCE_ADMIN_KEY');
    }
  });

  it('need the admin key once one is set, on loopback too', async () => {
    await open({ GOVERNANCE_ADMIN_KEY: adminKey });
    expect((await as({})).status).to.equal(403);
    expect((await as({ 'x-admin-key': `${adminKey}x` })).status).to.equal(403);
    expect((await as({ 'x-admin-key': adminKey })).status).to.equal(200);
  });

  it('are refused by a server with an API key and no admin key, which says what to set', async () => {
    await open({ MORTISE_API_KEY: apiKey });
    const refused = await as({ 'x-api-key': apiKey });
    expect([refused.status, codeOf(refused)]).to.deep.equal([403, 'admin_required']);
    expect(refused.body.error.hint).to.contain('GOVERNANCE_ADMIN_KEY');
    expect((await as({})).status).to.equal(401);
  });

  it('come with both keys, or with a principal that is an admin', async () => {
    const keys = [
      { key: 'key-of-an-admin-01', id: 'ada', admin: true },
      { key: 'key-of-a-user-0001', id: 'bob' },
    ];
    await open({ MORTISE_API_KEYS: JSON.stringify(keys), GOVERNANCE_ADMIN_KEY: adminKey });
    expect((await as({ 'x-api-key': 'key-of-an-admin-01' })).status).to.equal(200);
    expect((await as({ 'x-api-key': 'key-of-a-user-0001' })).status).to.equal(403);
    expect((await as({ 'x-api-key': 'key-of-a-user-0001', 'x-admin-key': adminKey })).status).to.equal(200);
    expect((await as({ 'x-admin-key': adminKey })).status, 'the admin key alone').to.equal(401);
    const row = await audited(host, ({ operation, principal }) => operation === 'admin:restart' && principal === 'ada');
    expect(row).to.include({ action: 'allow', reason: 'admin:done', targetSpace: 'plugin:one' });
  });

  it('guard every route that changes or shows the configuration', async () => {
    await open({ MORTISE_API_KEY: apiKey, GOVERNANCE_ADMIN_KEY: adminKey });
    const before = await get<{ plugins: unknown }>(host, '/admin/plugins', { 'x-api-key': apiKey });
    const routes: [string, string][] = [
      ...['enable', 'disable', 'restart', 'release'].map((one): [string, string] => [
        'POST',
        `/admin/plugins/one/${one}`,
      ]),
      ['PUT', '/admin/plugins/one/config'],
      ['POST', '/admin/plugins/export'],
      ['POST', '/admin/commands/any'],
      ['GET', '/admin/config'],
      ['GET', '/admin/events'],
    ];
    for (const [method, path] of routes) {
      const headers = { 'x-api-key': apiKey, 'content-type': 'application/json' };
      const response = await host.fetch(path, { method, headers, ...(method === 'GET' ? {} : { body: '{}' }) });
      const code = ((await response.json()) as Refused).error.code;
      expect([path, response.status, code]).to.deep.equal([path, 403, 'admin_required']);
    }
    for (const path of [
      '/admin/plugins',
      '/admin/plugins/one',
      '/admin/plugins/doctor',
      '/admin/tree',
      '/admin/commands',
    ]) {
      expect([path, (await get(host, path)).status]).to.deep.equal([path, 401]);
      expect([path, (await get(host, path, { 'x-api-key': apiKey })).status]).to.deep.equal([path, 200]);
    }
    expect((await get(host, '/admin/plugins', { 'x-api-key': apiKey })).body).to.deep.equal(before.body);
  });

  it('audit every refusal', async () => {
    await open({ MORTISE_API_KEY: apiKey, GOVERNANCE_ADMIN_KEY: adminKey });
    const response = await host.fetch(change, { method: 'POST', headers: { 'x-api-key': apiKey } });
    expect(response.status).to.equal(403);
    let row: AuditRow | undefined;
    await until(async () => {
      row = await audited(
        host,
        ({ action, principal, evidence }) =>
          action === 'reject' && JSON.stringify([principal, evidence]).includes('default'),
      );
      return row !== undefined;
    });
    expect(JSON.stringify(row)).to.contain('admin_required').and.not.to.contain(apiKey);
  });

  it('audit every change, including those that failed', async () => {
    await open({});
    await send(host, '/admin/plugins/one/disable');
    await send(host, '/admin/plugins/nobody/enable');
    await send(host, `/admin/plugins/${'x'.repeat(3_000)}/enable`);
    const { rows } = await host.service('audit').query({ limit: 100 });
    const reported = rows.map(({ operation, action, reason, targetSpace }) => [operation, action, reason, targetSpace]);
    expect(reported).to.deep.include.members([
      ['admin:disable', 'allow', 'admin:done', 'plugin:one'],
      ['admin:enable', 'reject', 'admin:plugin_not_found', 'plugin:nobody'],
    ]);
    expect(rows.every(({ targetSpace }) => (targetSpace ?? '').length <= 200)).to.equal(true);
  });

  it('do not extend to a required plugin: disabling it is refused and audited', async () => {
    host = await createTestHost({ plugins: ['admin', 'logbook'], required: ['admin', 'logbook'] });
    const { revision } = (await get<{ revision: number }>(host, '/admin/plugins')).body;
    for (const key of ['admin', 'logbook']) {
      const refused = await send<Refused>(host, `/admin/plugins/${key}/disable`, { cascade: true });
      expect([refused.status, refused.body.error.code]).to.deep.equal([409, 'plugin_required']);
    }
    const changes = [{ key: 'admin', enabled: false }];
    const plan = (await send<PluginPlan>(host, '/admin/plugins/plan', { changes })).body;
    expect([plan.stops, plan.blocked.map(({ code }) => code)]).to.deep.equal([[], ['plugin_required']]);
    expect((await rowOf(host, 'admin'))?.state).to.equal('active');
    expect((await get<{ revision: number }>(host, '/admin/plugins')).body.revision).to.equal(revision);
    const { rows } = await host.service('audit').query({ limit: 100 });
    expect(rows.map((row) => [row.operation, row.targetSpace, row.action, row.status, row.reason])).to.deep.equal(
      ['plugin:logbook', 'plugin:admin'].map((plugin) => [
        'admin:disable',
        plugin,
        'reject',
        'failed',
        'admin:plugin_required',
      ]),
    );
  });

  it('allow no change without an audit trail, except one that restores it', async () => {
    await open({});
    expect((await send(host, '/admin/plugins/logbook/disable')).status).to.equal(200);
    const refused = await send<Refused>(host, '/admin/plugins/one/disable');
    expect([refused.status, refused.body.error.code]).to.deep.equal([503, 'audit_unavailable']);
    expect((await rowOf(host, 'one'))?.state).to.equal('active');
    expect((await send(host, '/admin/plugins/logbook/enable')).status).to.equal(200);
    expect((await send(host, '/admin/plugins/one/disable')).status).to.equal(200);
  });

  it('are not granted to a foreign origin or host name', async () => {
    await open({});
    const status = (headers: Record<string, string>) =>
      new Promise<number>((resolve, reject) => {
        const { hostname, port } = new URL(host.origin);
        const outgoing = request({ hostname, port, path: change, method: 'POST', headers }, (incoming) => {
          incoming.resume();
          resolve(incoming.statusCode ?? 0);
        });
        outgoing.on('error', reject);
        outgoing.end();
      });
    expect(await status({ host: 'evil.example' })).to.equal(403);
    expect(await status({ origin: 'http://evil.example' })).to.equal(403);
    expect(await status({})).to.equal(200);
  });
});
