import { expect } from 'chai';
import { createTestHost, eachDatabase, type TestHost, type TestPlugin, until } from 'mortise/sdk/testing';

const quiet: TestPlugin = { manifest: { key: 'quiet' }, definition: { key: 'quiet', register: () => undefined } };

describe('two replicas on one PostgreSQL', () => {
  eachDatabase((engine) => {
    if (engine.dialect !== 'postgres') return;
    const hosts: TestHost[] = [];
    const open = async (): Promise<TestHost> => {
      const host = await createTestHost({ extra: [quiet], database: engine.env });
      hosts.push(host);
      return host;
    };
    const stateOf = (host: TestHost): string | undefined =>
      host.control.list().find((row) => row.key === 'quiet')?.state;
    afterEach(async () => {
      await Promise.all(hosts.splice(0).map((host) => host.stop()));
    });

    it('follow a toggle of either one within two seconds, and each reports its own state', async () => {
      const [one, two] = [await open(), await open()];
      await one.control.disable('quiet');
      await until(() => stateOf(two) === 'disabled');
      await two.control.enable('quiet');
      await until(() => stateOf(one) === 'active');
      await until(() => {
        const replicas = one.control.list().find((row) => row.key === 'quiet')?.replicas ?? [];
        return replicas.length === 2 && replicas.every(({ state }) => state === 'active');
      });
    });

    it('start with the last desired state, whatever the file says', async () => {
      const one = await open();
      await one.control.disable('quiet');
      await one.stop();
      expect(stateOf(await open())).to.equal('disabled');
    });

    it('refuse a change that is based on an older state', async () => {
      const [one, two] = [await open(), await open()];
      const revision = one.control.revision();
      await one.control.disable('quiet');
      const error = await two.control.enable('quiet', { revision }).catch((caught: unknown) => caught);
      expect(error).to.include({ code: 'revision_conflict', status: 409 });
    });
  });
});
