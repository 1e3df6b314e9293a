import { expect } from 'chai';
import { createTestHost, eachDatabase, type TestHost, until } from 'mortise/sdk/testing';
import { made, rowOf, send } from './support.js';

describe('the admin routes of two replicas', () => {
  eachDatabase((engine) => {
    if (engine.dialect !== 'postgres') return;
    const hosts: TestHost[] = [];
    const open = async (): Promise<TestHost> => {
      const host = await createTestHost({
        plugins: ['admin', 'logbook'],
        extra: [made('quiet')],
        database: engine.env,
      });
      hosts.push(host);
      return host;
    };
    afterEach(async () => {
      await Promise.all(hosts.splice(0).map((host) => host.stop()));
    });

    it('show a change of either within two seconds, and the state of each', async () => {
      const [one, two] = [await open(), await open()];
      expect((await send(one, '/admin/plugins/quiet/disable')).status).to.equal(200);
      await until(async () => (await rowOf(two, 'quiet'))?.state === 'disabled');
      expect((await send(two, '/admin/plugins/quiet/enable')).status).to.equal(200);
      await until(async () => (await rowOf(one, 'quiet'))?.state === 'active');
      await until(async () => {
        const replicas = (await rowOf(one, 'quiet'))?.replicas ?? [];
        return replicas.length === 2 && replicas.every(({ state }) => state === 'active');
      });
      const nodes = (await rowOf(one, 'quiet'))?.replicas?.map(({ node }) => node) ?? [];
      expect(new Set(nodes).size).to.equal(2);
    });

    it('write the shared state back to the file', async () => {
      const one = await open();
      await send(one, '/admin/plugins/quiet/disable');
      const exported = await send<{ file: string; changed: boolean }>(one, '/admin/plugins/export');
      expect(exported.body).to.include({ file: 'plugins.json', changed: true });
      expect((await send<{ changed: boolean }>(one, '/admin/plugins/export')).body.changed).to.equal(false);
    });
  });
});
