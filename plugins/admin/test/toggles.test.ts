import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import type { PluginDetail, PluginPlan, PluginRow } from 'mortise/sdk';
import { createTestHost, type TestHost, until } from 'mortise/sdk/testing';
import { codeOf, get, made, type Refused, rowOf, rows, send } from './support.js';

/** A tool that works until it is let go. */
function waiting(key: string) {
  const { promise, resolve: finish } = Promise.withResolvers<void>();
  const plugin = made(key, {
    manifest: { contributes: { tool: [key] } },
    register: (host) =>
      void host.contribute('tool', key, {
        summary: 'Waits.',
        audience: ['agent'],
        inputSchema: { type: 'object' },
        run: async () => {
          await promise;
          return { waited: true };
        },
      }),
  });
  return { plugin, finish };
}

describe('toggling plugins over HTTP', () => {
  let host: TestHost;
  afterEach(() => host.stop());

  it('lets a call of three seconds finish, refuses later ones, and affects no other plugin', async () => {
    const { plugin, finish } = waiting('wait');
    host = await createTestHost({ plugins: ['admin', 'logbook'], extra: [plugin, made('other')] });
    const call = () => host.points.call('tool', 'wait', (tool, ctx) => tool.run({}, { ...ctx, caller: 'agent' }));
    const others = async () => (await rows(host)).filter(({ key }) => key !== 'wait');
    const before = await others();
    const running = call();
    const disabling = send(host, '/admin/plugins/wait/disable');
    await until(async () => (await rowOf(host, 'wait'))?.state === 'draining');
    const plan = (await send<PluginPlan>(host, '/admin/plugins/plan', { changes: [{ key: 'wait', enabled: false }] }))
      .body;
    expect(plan.drains).to.deep.equal([{ key: 'wait', inFlight: 1 }]);
    const later = await call().catch((error: unknown) => error);
    expect(later).to.include({ code: 'contribution_unknown', status: 404 });
    await delay(3_000);
    finish();
    expect(await running).to.deep.equal({ waited: true });
    expect((await disabling).body.state).to.equal('disabled');
    expect(await others()).to.deep.equal(before);
  });

  it('refuses to disable what others need; with cascade all stop, dependants first', async () => {
    const stopped: string[] = [];
    const stops = (key: string, requires: readonly string[]) =>
      made(key, { manifest: { requires }, stop: () => void stopped.push(key) });
    host = await createTestHost({
      plugins: ['admin', 'logbook'],
      extra: [stops('base', []), stops('middle', ['base']), stops('top', ['middle']), stops('aside', [])],
    });
    const refused = await send<Refused>(host, '/admin/plugins/base/disable');
    expect([refused.status, refused.body.error.code]).to.deep.equal([409, 'plugin_has_dependants']);
    expect(refused.body.error.details).to.deep.include({ dependants: ['top', 'middle'] });
    expect(stopped).to.deep.equal([]);
    const { status } = await send(host, '/admin/plugins/base/disable', { cascade: true });
    expect([status, stopped]).to.deep.equal([200, ['top', 'middle', 'base']]);
    expect((await rowOf(host, 'aside'))?.state).to.equal('active');
  });

  it('does nothing a second time', async () => {
    host = await createTestHost({ plugins: ['admin', 'logbook'], extra: [made('one')] });
    const first = (await send(host, '/admin/plugins/one/disable')).body;
    const second = (await send(host, '/admin/plugins/one/disable')).body;
    expect(second).to.deep.equal(first);
  });

  it('handles 50 concurrent toggles of 10 plugins, ends in the last requested state, and leaks nothing', async () => {
    const keys = Array.from({ length: 10 }, (_, index) => `p${index}`);
    const open = new Set<string>();
    host = await createTestHost({
      plugins: ['admin', 'logbook'],
      extra: keys.map((key) =>
        made(key, {
          manifest: {
            contributes: { tool: [key] },
            permissions: { routes: [{ name: key, kind: 'http', method: 'GET', path: `/${key}`, auth: 'public' }] },
          },
          start(own) {
            own.contribute('route', key, { handle: () => ({ body: { key } }) });
            own.contribute('tool', key, {
              summary: 'None.',
              audience: ['agent'],
              inputSchema: { type: 'object' },
              run: () => ({}),
            });
            own.every(1_000, () => undefined);
            own.on('alert', () => undefined);
            open.add(key);
            own.own({ dispose: () => void open.delete(key) });
          },
        }),
      ),
    });
    const { kernel } = host.app;
    await get(host, '/admin/plugins');
    const before = {
      timers: process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length,
      listeners: kernel.registry.listenerCount(),
      contributions: kernel.registry.everything().length,
    };
    const toggles = Array.from({ length: 50 }, (_, index) => ({
      key: keys[(index * 7) % 10] ?? '',
      action: index % 3 === 0 ? 'enable' : 'disable',
    }));
    const answers = await Promise.all(toggles.map(({ key, action }) => send(host, `/admin/plugins/${key}/${action}`)));
    expect(answers.map(({ status }) => status)).to.deep.equal(Array(50).fill(200));
    const wanted = new Map((await rows(host)).map(({ key, desired }) => [key, desired]));
    for (const row of await rows(host)) {
      expect([row.key, row.state]).to.deep.equal([row.key, row.desired === 'enabled' ? 'active' : 'disabled']);
    }
    for (const key of keys) {
      const served = (await host.fetch(`/${key}`)).status;
      expect([key, served, open.has(key)]).to.deep.equal(
        wanted.get(key) === 'enabled' ? [key, 200, true] : [key, 404, false],
      );
      await send(host, `/admin/plugins/${key}/enable`);
    }
    await until(() => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length <= before.timers);
    expect(kernel.registry.listenerCount()).to.equal(before.listeners);
    expect(kernel.registry.everything().length).to.equal(before.contributions);
  });

  it('refuses a change based on an older revision, and changes nothing', async () => {
    host = await createTestHost({ plugins: ['admin', 'logbook'], extra: [made('one'), made('two')] });
    const { body } = await get<{ revision: number }>(host, '/admin/plugins');
    expect((await send(host, '/admin/plugins/one/disable', { revision: body.revision })).status).to.equal(200);
    const before = await rows(host);
    for (const [key, action] of [
      ['two', 'disable'],
      ['one', 'enable'],
      ['two', 'restart'],
      ['two', 'release'],
    ]) {
      const refused = await send<Refused>(host, `/admin/plugins/${key}/${action}`, { revision: body.revision });
      expect([action, refused.status, refused.body.error.code]).to.deep.equal([action, 409, 'revision_conflict']);
    }
    expect(await rows(host)).to.deep.equal(before);
  });

  it('returns 404 for an unknown plugin, with the known keys', async () => {
    host = await createTestHost({ plugins: ['admin', 'logbook'] });
    const answers = [
      await get<Refused>(host, '/admin/plugins/nobody'),
      await get<Refused>(host, '/admin/plugins/doctor?key=nobody'),
      await send<Refused>(host, '/admin/plugins/nobody/enable'),
      await send<Refused>(host, '/admin/plugins/__proto__/restart'),
      await send<Refused>(host, `/admin/plugins/${'x'.repeat(5_000)}/enable`),
      await send<Refused>(host, '/admin/plugins/plan', { changes: [{ key: 'nobody', enabled: true }] }),
    ];
    for (const answer of answers) {
      expect([answer.status, codeOf(answer)]).to.deep.equal([404, 'plugin_not_found']);
      expect((answer.body.error.details as { known: string[] }).known).to.include('admin');
    }
  });

  it('of the admin plugin itself responds before it stops, and the next start is quick', async () => {
    host = await createTestHost({ plugins: ['admin', 'logbook'] });
    const before = (await rowOf(host, 'admin'))?.since;
    const conflict = await send<Refused>(host, '/admin/plugins/admin/restart', { revision: 999 });
    expect(codeOf(conflict)).to.equal('revision_conflict');
    const restarting = await send(host, '/admin/plugins/admin/restart');
    expect([restarting.status, restarting.body.state]).to.deep.equal([200, 'draining']);
    await until(() => {
      const row = host.control.list().find(({ key }) => key === 'admin');
      return row?.state === 'active' && row.since !== before;
    });
    expect((await send(host, '/admin/plugins/admin/disable')).status).to.equal(200);
    await until(() => host.control.list().find(({ key }) => key === 'admin')?.state === 'disabled');
  });

  it('restarts at once, with a new history', async () => {
    const starts: string[] = [];
    host = await createTestHost({
      plugins: ['admin', 'logbook'],
      extra: [made('one', { start: () => void starts.push('start') })],
    });
    expect((await send(host, '/admin/plugins/one/restart')).body.state).to.equal('active');
    expect(starts).to.have.length(2);
    const { body } = await get<PluginDetail>(host, '/admin/plugins/one');
    expect(body.history.map(({ state }) => state)).to.include.members(['starting', 'active', 'draining']);
    expect(body.load_times_ms.start).to.be.a('number');
  });

  it('keeps the desired state of a plugin that cannot start, and reports the reason', async () => {
    const start = (): never => {
      throw new Error('the cable is missing');
    };
    host = await createTestHost({ plugins: ['admin', 'logbook'], extra: [made('one', { start })] });
    await send(host, '/admin/plugins/one/disable');
    const refused = await send<Refused>(host, '/admin/plugins/one/enable');
    expect([refused.status, refused.body.error.code]).to.deep.equal([422, 'plugin_blocked']);
    expect(refused.body.error.message).to.contain('the cable is missing');
    const row = (await rowOf(host, 'one')) as PluginRow;
    expect([row.desired, row.state, row.code]).to.deep.equal(['enabled', 'failed', 'start_failed']);
  });
});
