import { expect } from 'chai';
import { eachDatabase } from 'mortise/sdk/testing';
import { until } from '../../sdk/testing/until.js';
import { startChild } from './child.js';

const times = { heartbeatMs: 100, deadAfterMs: 2_000 };

describe('instances', () => {
  eachDatabase((engine) => {
    it('see each other alive, and a clean stop removes one immediately', async () => {
      const [one, two] = [await engine.openHost({ instances: times }), await engine.openHost({ instances: times })];
      expect(one.instances.id).not.to.equal(two.instances.id);
      expect(await one.instances.isAlive(two.instances.id)).to.equal(true);
      const listed = await two.instances.list();
      const own = listed.find(({ id }) => id === one.instances.id);
      expect(own).to.include({ pid: process.pid, alive: true });
      expect(Date.parse(own?.startedAt ?? '')).to.be.closeTo(Date.now(), 10_000);
      await two.close();
      expect(await one.instances.isAlive(two.instances.id)).to.equal(false);
      expect((await one.instances.list()).map(({ id }) => id)).not.to.include(two.instances.id);
    });

    it('stay alive as long as they send heartbeats', async () => {
      const [one, two] = [await engine.openHost({ instances: times }), await engine.openHost({ instances: times })];
      const end = Date.now() + 2 * times.deadAfterMs;
      await until('two lease periods have passed', async () => {
        expect(await one.instances.isAlive(two.instances.id)).to.equal(true);
        return Date.now() > end;
      });
    });

    it('count as dead some time after they are killed, and are removed later', async () => {
      const watcher = await engine.openHost({ instances: times });
      const child = startChild('./living-process.js', { settings: engine.settings, times });
      const id = await new Promise<string>((resolve) => child.once('message', (message) => resolve(String(message))));
      expect(await watcher.instances.isAlive(id)).to.equal(true);
      child.kill('SIGKILL');
      await until('it counts as dead', async () => !(await watcher.instances.isAlive(id)));
      expect((await watcher.instances.list()).find((instance) => instance.id === id)).to.include({ alive: false });
      const next = await engine.openHost({ instances: { ...times, forgetAfterMs: 400 } });
      expect((await next.instances.list()).map((instance) => instance.id)).not.to.include(id);
    });
  });
});
