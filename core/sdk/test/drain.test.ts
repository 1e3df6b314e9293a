import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { createDrain } from '../batching.js';

describe('a drain', () => {
  it('serves an item that is queued at any tick around the end of a run', async () => {
    for (let ticks = 0; ticks < 12; ticks += 1) {
      const queue = ['first'];
      const served: string[] = [];
      const drain = createDrain(async () => {
        for (let item = queue.shift(); item !== undefined; item = queue.shift()) served.push(item);
      });
      drain.request();
      for (let tick = 0; tick < ticks; tick += 1) await null;
      queue.push('second');
      drain.request();
      await drain.idle();
      expect(served, `queued after ${ticks} ticks`).to.deep.equal(['first', 'second']);
    }
  });

  it('starts after the code that requested it, and once for several requests', async () => {
    let runs = 0;
    const drain = createDrain(() => {
      runs += 1;
    });
    drain.request();
    drain.request();
    expect(runs).to.equal(0);
    await drain.idle();
    expect(runs).to.equal(1);
  });

  it('never overlaps itself, and runs once more for all requests during a run', async () => {
    let runs = 0;
    let active = 0;
    let most = 0;
    const drain = createDrain(async () => {
      runs += 1;
      active += 1;
      most = Math.max(most, active);
      await sleep(2);
      active -= 1;
    });
    drain.request();
    await sleep(0);
    drain.request();
    drain.request();
    await drain.idle();
    expect({ runs, most }).to.deep.equal({ runs: 2, most: 1 });
  });

  it('reports the error of a run and serves the next request', async () => {
    const errors: unknown[] = [];
    let runs = 0;
    const drain = createDrain(
      () => {
        runs += 1;
        if (runs === 1) throw new Error('broken');
      },
      (error) => errors.push(error),
    );
    drain.request();
    await drain.idle();
    drain.request();
    await drain.idle();
    expect(runs).to.equal(2);
    expect(errors).to.have.length(1);
  });
});
