import { expect } from 'chai';
import type { PluginDetail, PluginPlan, RouteRequest } from 'mortise/sdk';
import { createTestHost, type TestHost, type TestPlugin } from 'mortise/sdk/testing';

/** A plugin with a route named `list`, a name that other plugins may use too. */
const lister = (key: string): TestPlugin => ({
  manifest: {
    key,
    permissions: { routes: [{ name: 'list', kind: 'http', path: `/${key}/list`, auth: 'public' }] },
  },
  definition: {
    key,
    register(host) {
      host.contribute('route', 'list', { handle: ({ path }: RouteRequest) => ({ body: { from: key, path } }) });
    },
  },
});

describe('routes with the same name', () => {
  let host: TestHost;
  afterEach(() => host.stop());

  const ask = async (key: string): Promise<readonly unknown[]> => {
    const response = await host.fetch(`/${key}/list`);
    const { from } = (await response.json()) as { from?: string };
    return [response.status, from];
  };

  it('belong to their plugins, which all start and answer under separate paths', async () => {
    host = await createTestHost({ extra: [lister('one'), lister('two'), lister('three')] });
    for (const key of ['one', 'two', 'three']) expect(await ask(key)).to.deep.equal([200, key]);
  });

  it('appear and disappear with their plugin, as planned', async () => {
    host = await createTestHost({
      plugins: ['admin', 'logbook'],
      extra: [lister('one'), lister('two')],
      disabled: ['two'],
    });
    const changes = [{ key: 'two', enabled: true }];
    const plan = (await (await host.post('/admin/plugins/plan', { changes })).json()) as PluginPlan;
    expect([plan.starts, plan.stops, plan.blocked]).to.deep.equal([['two'], [], []]);
    expect((await host.post('/admin/plugins/two/enable', {})).status).to.equal(200);
    expect([await ask('one'), await ask('two')]).to.deep.equal([
      [200, 'one'],
      [200, 'two'],
    ]);
    expect((await host.post('/admin/plugins/one/disable', {})).status).to.equal(200);
    expect([(await ask('one'))[0], await ask('two')]).to.deep.equal([404, [200, 'two']]);
    expect((await host.post('/admin/plugins/one/enable', {})).status).to.equal(200);
    expect([await ask('one'), await ask('two')]).to.deep.equal([
      [200, 'one'],
      [200, 'two'],
    ]);
  });

  it('are counted per plugin', async () => {
    host = await createTestHost({ plugins: ['admin', 'logbook'], extra: [lister('one'), lister('two')] });
    await ask('two');
    const calls = async (key: string): Promise<unknown> =>
      ((await (await host.fetch(`/admin/plugins/${key}`)).json()) as PluginDetail).contributions.map((one) => [
        one.key,
        one.calls,
      ]);
    expect([await calls('one'), await calls('two')]).to.deep.equal([[['list', 0]], [['list', 1]]]);
    const listed = host.points.list('route').filter(({ key }) => key === 'list');
    expect(listed.map(({ plugin, active }) => [plugin, active])).to.deep.equal([
      ['one', true],
      ['two', true],
    ]);
  });
});
