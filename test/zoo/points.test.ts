import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Finding, PluginPlan, PluginRow } from '../../core/sdk/index.js';
import { until } from '../../core/sdk/testing/index.js';
import { dropIn, ready, startZoo, type ZooServer } from './zoo-server.js';

describe('an extension point of a dropped-in plugin', () => {
  let server: ZooServer;

  before(async () => {
    server = await startZoo({ plugins: ['opens-point', 'greets', 'greets-only'] });
    await ready(server);
  });
  after(async () => {
    expect(server.listened(), 'starts of the process').to.equal(1);
    await server.stop();
  });

  const toggle = async (key: string, action: 'enable' | 'disable'): Promise<number> =>
    (await server.ask('POST', `/admin/plugins/${key}/${action}`, {})).status;
  const states = async (...keys: readonly string[]): Promise<readonly string[]> => {
    const { body } = await server.ask('GET', '/admin/plugins');
    const rows = (body as { plugins: PluginRow[] }).plugins;
    return keys.map((key) => {
      const row = rows.find((one) => one.key === key);
      return row?.code ? `${row.state} ${row.code}` : `${row?.state}`;
    });
  };
  const greet = (key: string) => server.ask('GET', `/opens-point/greet?key=${key}&name=Ada`);

  it('takes contributions of other dropped-in plugins', async () => {
    expect((await greet('greets')).body).to.deep.equal({ text: 'Hello Ada', keys: ['greets', 'greets-only'] });
    expect((await greet('greets-only')).body).to.include({ text: 'Salut Ada' });
  });

  it('is closed while its plugin is disabled: a contributor that lists it as optional keeps running', async () => {
    const planned = await server.ask('POST', '/admin/plugins/plan', {
      changes: [{ key: 'opens-point', enabled: false }],
    });
    const { inert, stops } = planned.body as unknown as PluginPlan;
    expect(inert).to.deep.equal([{ key: 'greets', point: 'greeting', owner: 'opens-point' }]);
    expect(stops).to.have.members(['greets-only', 'opens-point']);

    expect(await toggle('opens-point', 'disable')).to.equal(200);
    expect(await states('greets', 'greets-only')).to.deep.equal(['active', 'blocked point_unknown']);
    const doctor = await server.ask('GET', '/admin/plugins/doctor?key=greets');
    expect((doctor.body as { findings: Finding[] }).findings.map(({ code }) => code)).to.include('contribution_inert');

    expect(await toggle('opens-point', 'enable')).to.equal(200);
    expect(await states('greets', 'greets-only')).to.deep.equal(['active', 'active']);
    expect((await greet('greets')).status).to.equal(200);
  });

  it('stays with its plugin when another folder declares it after the plan has read that folder', async () => {
    const folder = join(server.pluginsDir, 'opens-same-point');
    await mkdir(folder);
    await until('the empty folder', async () => (await states('opens-same-point'))[0] !== 'undefined');
    await dropIn('opens-same-point', server.pluginsDir);
    const changes = [{ key: 'opens-same-point', enabled: true }];
    const planned = await server.ask('POST', '/admin/plugins/plan', { changes });
    expect((planned.body as unknown as PluginPlan).stops).to.deep.equal([]);
    expect(await toggle('opens-same-point', 'enable')).to.equal(409);
    expect(await states('opens-point')).to.deep.equal(['active']);
  });

  it('belongs to one plugin: another that opens it is refused, and no plugin opens a point of the platform', async () => {
    for (const plugin of ['opens-same-point', 'opens-platform-point']) await dropIn(plugin, server.pluginsDir);
    expect(await toggle('opens-same-point', 'enable')).to.equal(409);
    expect(await toggle('opens-platform-point', 'enable')).to.equal(422);
    expect(await states('opens-point', 'opens-platform-point')).to.deep.equal(['active', 'blocked point_reserved']);
  });
});
