import { expect } from 'chai';
import { eachDatabase, type TestEngine } from 'mortise/sdk/testing';
import { until } from '../../sdk/testing/until.js';
import type { DatabaseHost } from '../open-database.js';
import { startChild } from './child.js';
import { errorOf } from './expect-error.js';

async function two(engine: TestEngine): Promise<readonly [DatabaseHost, DatabaseHost]> {
  return [await engine.openHost(), await engine.openHost()];
}

/** Changes the holder in the table, as an operator could. */
async function steal(host: DatabaseHost, name: string): Promise<void> {
  const table = host.dialect === 'postgres' ? 'mortise.leases' : 'mortise_leases';
  await host.forPlugin('thief', []).statement(`update ${table} set holder = 'thief' where name = ?`, [name]);
}

describe('leases', () => {
  eachDatabase((engine) => {
    it('have one holder across all processes and within a process', async () => {
      const [one, other] = await two(engine);
      const lease = await one.leases.tryAcquire('once');
      expect(lease).to.include({ name: 'once', epoch: 1 });
      expect(await one.leases.tryAcquire('once')).to.equal(null);
      expect(await other.leases.tryAcquire('once')).to.equal(null);
      expect(await other.leases.tryAcquire('another')).to.not.equal(null);
    });

    it('go to one of many concurrent claimers', async () => {
      const hosts = [...(await two(engine)), ...(await two(engine))];
      const asked = Array.from({ length: 32 }, (_, index) => hosts[index % 4]?.leases.tryAcquire('rush'));
      const won = (await Promise.all(asked)).filter((lease) => lease !== null);
      expect(won).to.have.length(1);
    });

    it('increase their epoch with every holder', async () => {
      const [one, other] = await two(engine);
      for (let epoch = 1; epoch <= 4; epoch += 1) {
        const lease = await (epoch % 2 === 0 ? one : other).leases.tryAcquire('epochs');
        expect(lease?.epoch).to.equal(epoch);
        await lease?.dispose();
        await lease?.dispose();
        expect(lease?.signal.aborted).to.equal(false);
      }
    });

    it('are renewed as long as they are held', async () => {
      const [one, other] = await two(engine);
      const lease = await one.leases.tryAcquire('long', { ttlMs: 2_000 });
      const end = Date.now() + 2_200;
      await until('the first lease period has ended', async () => {
        expect(await other.leases.tryAcquire('long', { ttlMs: 2_000 })).to.equal(null);
        return Date.now() > end;
      });
      expect(lease?.signal.aborted).to.equal(false);
      await lease?.dispose();
      expect(await other.leases.tryAcquire('long')).to.not.equal(null);
    });

    it('of a killed process go to the next one after they expire', async () => {
      const [one] = await two(engine);
      const child = startChild('./living-process.js', { settings: engine.settings, lease: 'orphan', ttlMs: 2_500 });
      const epoch = await new Promise((resolve) => child.once('message', resolve));
      expect(epoch).to.equal('1');
      expect(await one.leases.tryAcquire('orphan')).to.equal(null);
      child.kill('SIGKILL');
      let lease = await one.leases.tryAcquire('orphan');
      await until('the lease has expired', async () => {
        lease ??= await one.leases.tryAcquire('orphan');
        return lease !== null;
      });
      expect(lease?.epoch).to.equal(2);
    });

    it('abort their signal when taken over, and a late release does not affect the new holder', async () => {
      const [one, other] = await two(engine);
      const lease = await one.leases.tryAcquire('stolen', { ttlMs: 300 });
      await steal(other, 'stolen');
      await until('the loss is detected', () => lease?.signal.aborted === true);
      expect(String(lease?.signal.reason)).to.include('took it over');
      await lease?.dispose();
      expect(await other.leases.tryAcquire('stolen', { ttlMs: 300 })).to.equal(null);
    });

    it('are released when their process stops cleanly', async () => {
      const [one, other] = await two(engine);
      await one.leases.tryAcquire('tidy');
      await one.close();
      expect((await other.leases.tryAcquire('tidy'))?.epoch).to.equal(2);
    });

    it('need a positive duration', async () => {
      const [one] = await two(engine);
      for (const ttlMs of [0, -1, Number.NaN, Number.POSITIVE_INFINITY]) {
        expect(await errorOf(one.leases.tryAcquire('never', { ttlMs }))).to.be.instanceOf(RangeError);
      }
    });
  });
});
