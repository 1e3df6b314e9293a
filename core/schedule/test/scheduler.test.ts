import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { getTasks } from 'node-cron';
import { type Clock, createScheduler } from '../scheduler.js';
import { createManualClock } from './manual-clock.js';

function gate(): { promise: Promise<void>; open: () => void } {
  let open = (): void => {};
  const promise = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { promise, open };
}

describe('the scheduler', () => {
  it('runs on a grid that late ticks do not move', async () => {
    const clock = createManualClock();
    const scheduler = createScheduler({ clock });
    const times: number[] = [];
    scheduler.every(100, () => times.push(clock.monotonic()));
    await clock.advance(350);
    expect(times).to.deep.equal([100, 200, 300]);
    await clock.advance(60);
    expect(times.at(-1)).to.equal(400);
    scheduler.dispose();
  });

  it('merges late ticks, and returns to the grid', async () => {
    let elapsed = 0;
    const waits: number[] = [];
    let fire = (): void => {};
    const late: Clock = {
      now: () => elapsed,
      monotonic: () => elapsed,
      after(ms, run) {
        waits.push(ms);
        fire = run;
        return { dispose() {} };
      },
    };
    let runs = 0;
    createScheduler({ clock: late }).every(100, () => {
      runs += 1;
    });
    elapsed = 530;
    fire();
    await new Promise<void>((resolve) => setImmediate(resolve));
    elapsed = 599.7;
    fire();
    await new Promise<void>((resolve) => setImmediate(resolve));
    expect(waits.map(Math.round)).to.deep.equal([100, 70, 100]);
    expect(runs).to.equal(2);
  });

  it('never overlaps runs, and merges the ticks during a long run into one run after it', async () => {
    const clock = createManualClock();
    const scheduler = createScheduler({ clock });
    const first = gate();
    let runs = 0;
    let running = 0;
    scheduler.every(100, async () => {
      runs += 1;
      running += 1;
      expect(running).to.equal(1);
      if (runs === 1) await first.promise;
      running -= 1;
    });
    await clock.advance(100);
    await clock.advance(450);
    expect(runs).to.equal(1);
    first.open();
    await clock.advance(0);
    expect(runs).to.equal(2);
    await clock.advance(50);
    expect(runs).to.equal(3);
    scheduler.dispose();
  });

  it('continues after a run that throws, and reports it', async () => {
    const clock = createManualClock();
    const errors: unknown[] = [];
    const scheduler = createScheduler({ clock, onError: (error) => errors.push(error) });
    scheduler.every(10, () => {
      throw new Error('no');
    });
    await clock.advance(30);
    expect(errors).to.have.length(3);
    scheduler.dispose();
  });

  it('runs nothing after it was disposed, not even a pending run', async () => {
    const clock = createManualClock();
    const scheduler = createScheduler({ clock });
    const held = gate();
    let runs = 0;
    const handle = scheduler.every(10, async () => {
      runs += 1;
      await held.promise;
    });
    await clock.advance(35);
    await handle.dispose();
    held.open();
    await clock.advance(100);
    expect(runs).to.equal(1);
    scheduler.dispose();
  });

  it('refuses an invalid interval', () => {
    const scheduler = createScheduler({ clock: createManualClock() });
    for (const ms of [0, -1, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(() => scheduler.every(ms, () => {}))
        .to.throw()
        .with.property('code', 'invalid_interval');
    }
  });

  /** The task that the newest call of `cron` has registered with node-cron. */
  function newestTask() {
    const task = [...getTasks().values()].at(-1);
    if (!task) throw new Error('node-cron has no task.');
    return task;
  }

  it('runs a cron schedule in its zone', async () => {
    const scheduler = createScheduler();
    let runs = 0;
    scheduler.cron('0 9 * * *', 'Asia/Shanghai', () => {
      runs += 1;
    });
    const task = newestTask();
    expect(task.match(new Date('2026-03-01T01:00:00Z'))).to.equal(true);
    expect(task.match(new Date('2026-03-01T09:00:00Z'))).to.equal(false);
    await task.execute();
    await new Promise<void>((resolve) => setImmediate(resolve));
    expect(runs).to.equal(1);
    scheduler.dispose();
  });

  it('never overlaps runs of a cron schedule, and merges the slots during a long run into one run after it', async () => {
    const scheduler = createScheduler();
    const first = gate();
    let runs = 0;
    let running = 0;
    scheduler.cron('0 0 1 1 *', 'UTC', async () => {
      runs += 1;
      running += 1;
      expect(running).to.equal(1);
      if (runs === 1) await first.promise;
      running -= 1;
    });
    const task = newestTask();
    for (let slot = 0; slot < 3; slot += 1) await task.execute();
    expect(runs).to.equal(1);
    first.open();
    await new Promise<void>((resolve) => setImmediate(resolve));
    expect(runs).to.equal(2);
    scheduler.dispose();
  });

  it('reports errors of a cron run, and continues', async () => {
    const errors: unknown[] = [];
    const scheduler = createScheduler({ onError: (error) => errors.push(error) });
    scheduler.cron('0 0 1 1 *', 'UTC', () => Promise.reject(new Error('no')));
    const task = newestTask();
    await task.execute();
    await new Promise<void>((resolve) => setImmediate(resolve));
    await task.execute();
    await new Promise<void>((resolve) => setImmediate(resolve));
    expect(errors).to.have.length(2);
    scheduler.dispose();
  });

  it('unregisters a disposed cron schedule and drops its pending run', async () => {
    const scheduler = createScheduler();
    const before = getTasks().size;
    let runs = 0;
    const handle = scheduler.cron('0 0 1 1 *', 'UTC', () => {
      runs += 1;
    });
    const task = newestTask();
    const executed = task.execute();
    handle.dispose();
    await executed;
    await new Promise<void>((resolve) => setImmediate(resolve));
    expect(runs).to.equal(0);
    expect(getTasks().size).to.equal(before);
    expect(task.getStatus()).to.equal('destroyed');
    scheduler.dispose();
  });

  it('refuses an invalid expression or zone immediately', () => {
    const scheduler = createScheduler({ clock: createManualClock() });
    for (const expression of ['nonsense', '0 0 31 2 *', '61 * * * *']) {
      expect(() => scheduler.cron(expression, 'UTC', () => {}))
        .to.throw()
        .with.property('code', 'invalid_cron');
    }
    expect(() => scheduler.cron('* * * * *', 'Nowhere', () => {}))
      .to.throw()
      .with.property('code', 'invalid_zone');
  });

  it('runs on the machine clock and does not keep the process alive', () => {
    const module = fileURLToPath(new URL('../index.js', import.meta.url));
    const script = `
      const { createScheduler } = await import(${JSON.stringify(module)});
      const scheduler = createScheduler();
      const started = performance.now();
      const keep = setInterval(() => {}, 50);
      scheduler.every(3600000, () => {});
      scheduler.cron('0 0 1 1 *', 'UTC', () => {});
      scheduler.cron('* * * * * *', 'UTC', () => {
        console.log(performance.now() - started < 2500 ? 'on time' : 'late');
        clearInterval(keep);
      });`;
    const result = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
      encoding: 'utf8',
      timeout: 15_000,
    });
    expect(result.stdout.trim()).to.equal('on time');
    expect(result.status).to.equal(0);
  });
});
