import { expect } from 'chai';
import { until } from 'mortise/sdk/testing';
import type { Finding, PluginDetail, PluginRow } from '../../core/sdk/index.js';
import { SteadyRequests } from './steady-requests.js';
import { type Expected, table } from './table.js';
import { ready, startZoo, type ZooServer } from './zoo-server.js';

describe('a server full of broken plugins', () => {
  let server: ZooServer;
  let requests: SteadyRequests;
  let rows: ReadonlyMap<string, PluginRow>;
  let findings: readonly Finding[];

  before(async () => {
    const plugins = ['healthy', ...table.flatMap((one) => one.with ?? [one.plugin])];
    server = await startZoo({
      plugins,
      enabled: ['healthy', ...table.map((one) => one.plugin)],
      config: { 'config-invalid': { limit: 'many' } },
    });
    await ready(server);
    requests = new SteadyRequests(server);
    await until(
      () => 'some did not settle',
      async () => {
        rows = await list();
        return table.every((one) => settledAs(one, rows.get(one.plugin)));
      },
      20_000,
    ).catch(() => undefined);
    findings = ((await server.ask('GET', '/admin/plugins/doctor')).body as { findings: Finding[] }).findings;
  });

  after(async () => {
    await requests?.stop();
    await server?.stop();
  });

  for (const one of table) {
    const end = one.code ?? one.lastFault ?? one.finding;
    it(`leaves ${one.plugin} ${one.state}${end ? `: ${end}` : ''}`, async () => {
      const row = rows.get(one.plugin);
      expect(row, 'its row').to.include({ state: one.state, code: one.code });
      if (one.message) expect(row?.message).to.match(one.message);
      if (one.hint) expect(row?.hint).to.match(one.hint);
      if (one.code) {
        expect(row?.message, 'a sentence').to.match(/\.$/);
        expect(`${row?.message} ${row?.hint}`, 'no path of the machine').not.to.include(server.pluginsDir);
      }
      if (one.lastFault) expect((await inspect(one.plugin)).last_fault?.code).to.equal(one.lastFault);
      if (one.finding)
        expect(findings.filter((found) => found.key === one.plugin).map((found) => found.code)).to.include(one.finding);
    });
  }

  it('reports a health check that hangs or throws as failed, and keeps running', async () => {
    const [hangs, throws] = await Promise.all([inspect('health-hangs'), inspect('health-throws')]);
    expect(hangs.health).to.deep.equal({ ok: false, detail: 'health() did not answer within 5000 ms' });
    expect(throws.health).to.deep.equal({ ok: false, detail: 'do not ask' });
  });

  for (const [plugin, fault] of [
    ['stop-hangs', 'stop_failed'],
    ['stop-throws', 'stop_failed'],
    ['dispose-hangs', 'release_failed'],
  ] as const) {
    it(`disables ${plugin}, and records ${fault}`, async () => {
      const { status, body } = await server.ask('POST', `/admin/plugins/${plugin}/disable`, {});
      expect([status, body.state]).to.deep.equal([200, 'disabled']);
      expect((await inspect(plugin)).last_fault?.code).to.equal(fault);
    });
  }

  it('disables transaction-hangs while it holds the database', async () => {
    const asked = server.ask('GET', '/transaction-hangs').catch(() => undefined);
    await until(
      () => 'the doctor does not name the plugin that holds the database',
      async () => {
        const { body } = await server.ask('GET', '/admin/plugins/doctor');
        return (body as { findings: Finding[] }).findings.some((found) => found.code === 'database_held');
      },
      20_000,
    );
    const { status, body } = await server.ask('POST', '/admin/plugins/transaction-hangs/disable', {});
    expect([status, body.state]).to.deep.equal([200, 'disabled']);
    await asked;
  });

  it('finds the timer that a disabled plugin left behind', async () => {
    await server.ask('POST', '/admin/plugins/leaves-timer/disable', {});
    const { body } = await server.ask('GET', '/admin/plugins/doctor?key=leaves-timer');
    expect((body as { findings: Finding[] }).findings.map((found) => found.code)).to.include('left_behind');
  });

  it('does not wait for a call that ignores its abort, and counts the fault of its plugin', async () => {
    const call = fetch(`${server.origin}/ignores-abort`).then((response) => response.status);
    await until(async () => (await inspect('ignores-abort')).contributions.some((one) => one.in_flight === 1));
    const { body } = await server.ask('POST', '/admin/plugins/ignores-abort/disable', {});
    expect(body.state).to.equal('disabled');
    expect(await call).to.equal(503);
    expect((await inspect('ignores-abort')).last_fault?.code).to.equal('ignored_abort');
  });

  it('keeps its own routes and those of other plugins beside a catch-all route', async () => {
    expect((await server.ask('GET', '/elsewhere')).body).to.deep.equal({ caught: true });
    for (const path of ['/admin', '/admin/nowhere', '/healthz/x', '/mcp/x', '/.well-known/x', '/healthy/x'])
      expect((await server.ask('GET', path)).status, path).to.equal(404);
    for (const path of ['/healthz', '/ready', '/version', '/metrics', '/admin/plugins', '/healthy/echo'])
      expect((await server.ask('PUT', path, {})).status, path).to.equal(405);
    expect((await server.ask('GET', '/healthz')).body).to.deep.equal({ ok: true });
  });

  it('answered every request of the healthy plugin meanwhile', async () => {
    await requests.stop();
    expect(requests.wrong).to.deep.equal([]);
    expect(requests.sent).to.be.greaterThan(50);
    expect(rows.get('healthy')).to.include({ state: 'active' });
    expect(server.listened(), 'starts of the process').to.equal(1);
  });

  async function list(): Promise<ReadonlyMap<string, PluginRow>> {
    const { body } = await server.ask('GET', '/admin/plugins');
    return new Map((body as { plugins: PluginRow[] }).plugins.map((row) => [row.key, row]));
  }

  async function inspect(plugin: string): Promise<PluginDetail> {
    return (await server.ask('GET', `/admin/plugins/${plugin}`)).body as unknown as PluginDetail;
  }
});

function settledAs(one: Expected, row: PluginRow | undefined): boolean {
  return row?.state === one.state && row.code === one.code;
}
