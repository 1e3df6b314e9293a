import { expect } from 'chai';
import { until } from '../../sdk/testing/until.js';
import { ShutdownDeadline } from '../shutdown-deadline.js';
import { echoPlugin, makeKernel, plugin } from './kernel-fixture.js';

const never = () => new Promise<never>(() => undefined);

describe('a shutdown', () => {
  it('stops dependants first, each with the reason', async () => {
    const notes: string[] = [];
    const made = makeKernel(
      [
        echoPlugin('a', { notes }),
        echoPlugin('b', { requires: ['a'], notes }),
        echoPlugin('c', { requires: ['b'], notes }),
      ],
      ['a', 'b', 'c'],
    );
    await made.kernel.boot();
    notes.length = 0;
    await made.stop();
    expect(notes).to.deep.equal(['stop c', 'stop b', 'stop a']);
    expect(made.control.list().map((row) => row.state)).to.deep.equal(['disabled', 'disabled', 'disabled']);
  });

  it('lets calls finish before the deadline', async () => {
    let finish: (value: object) => void = () => undefined;
    const made = makeKernel([slow('slow', (resolve) => (finish = resolve))], ['slow']);
    await made.kernel.boot();
    const call = made.kernel.points.call('tool', 'slow', (tool) => tool.run({}, {} as never));
    const ended = made.kernel.shutdown(Date.now() + 5_000);
    await until(() => made.state('slow') === 'draining');
    finish({ done: true });
    expect(await call).to.deep.equal({ done: true });
    await ended;
    await made.stop();
  });

  it('lets plugins finish what they have accepted, while all others still run', async () => {
    const heard: unknown[] = [];
    const queue = plugin(
      { key: 'queue' },
      {
        start(host) {
          queued = async () => {
            await new Promise((resolve) => setTimeout(resolve, 20));
            heard.push(await host.points.call('tool', 'slow', (tool) => tool.run({}, {} as never)));
          };
        },
        drain: () => queued(),
      },
    );
    let queued: () => Promise<void> = async () => undefined;
    const made = makeKernel([queue, slow('slow', (resolve) => resolve({ done: true }))], ['queue', 'slow']);
    await made.kernel.boot();
    const deadline = Date.now() + 5_000;
    await made.kernel.drain(deadline);
    expect(heard).to.deep.equal([{ done: true }]);
    await made.kernel.shutdown(deadline);
    await made.stop();
  });

  it('limits the drain to its share of the time, and records failures', async () => {
    const untils: number[] = [];
    const hangs = plugin(
      { key: 'hangs' },
      {
        drain: (limit) => {
          untils.push(limit);
          return never();
        },
      },
    );
    const fails = plugin({ key: 'fails' }, { drain: () => Promise.reject(new Error('no')) });
    const made = makeKernel([hangs, fails], ['hangs', 'fails']);
    await made.kernel.boot();
    const from = Date.now();
    await made.kernel.drain(from + 4_000);
    expect(Date.now() - from).to.be.within(2_900, 3_900);
    expect(untils[0]).to.be.within(from + 2_900, from + 3_500);
    expect(made.kernel.plugins.record('fails')?.lastFault).to.include({ code: 'drain_failed' });
    // The limit is that of the process: a plugin that exceeds it is reported, without a fault.
    expect(made.kernel.plugins.record('hangs')?.lastFault).to.equal(null);
    expect(await made.kernel.shutdown(Date.now() + 1_000)).to.deep.equal([{ plugin: 'hangs', what: 'drain()' }]);
    await made.stop();
  });

  it('ends by its deadline, even if calls, stops and disposals hang', async () => {
    const hanging = (key: string, requires: readonly string[]) =>
      plugin(
        { key, requires, contributes: { tool: [key] } },
        {
          register: (host) =>
            void host.contribute('tool', key, {
              summary: 'It.',
              audience: ['mcp'],
              inputSchema: { type: 'object' },
              run: never,
            }),
          start: (host) => void host.own({ dispose: never }),
          stop: never,
        },
      );
    const made = makeKernel([hanging('a', []), hanging('b', ['a']), hanging('c', ['b'])], ['a', 'b', 'c']);
    await made.kernel.boot();
    for (const key of ['a', 'b', 'c'])
      made.kernel.points.call('tool', key, (tool) => tool.run({}, {} as never)).catch(() => undefined);
    const from = performance.now();
    const unfinished = await made.kernel.shutdown(Date.now() + 600);
    // Each of the three sequential steps gets a minimum of time even after the deadline.
    expect(performance.now() - from).to.be.lessThan(4_500);
    expect(made.control.list().map((row) => row.state)).to.deep.equal(['disabled', 'disabled', 'disabled']);
    const named = unfinished.map(({ plugin: key, what }) => `${key} ${what}`);
    expect(named).to.have.members(
      ['a', 'b', 'c'].flatMap((key) => [`${key} tool "${key}"`, `${key} stop()`, `${key} release()`]),
    );
    expect(made.kernel.plugins.records().map(({ lastFault }) => lastFault)).to.deep.equal([null, null, null]);
    expect(made.lines.filter((line) => line.startsWith('a plugin failed'))).to.deep.equal([]);
    await made.stop();
  });

  it('waits neither for an unfinished start nor for an unlimited drain', async () => {
    const drained = slow('drains', () => undefined);
    const made = makeKernel([drained, plugin({ key: 'starts' }, { start: never })], ['drains']);
    await made.kernel.boot();
    made.kernel.points.call('tool', 'drains', (tool) => tool.run({}, {} as never)).catch(() => undefined);
    const disabled = made.control.disable('drains');
    const enabled = made.control.enable('starts').catch((error: unknown) => (error as { code: string }).code);
    await until(() => made.state('drains') === 'draining');
    const from = performance.now();
    await made.kernel.shutdown(Date.now() + 300);
    await disabled;
    expect(await enabled).to.equal('plugin_blocked');
    expect(performance.now() - from).to.be.lessThan(8_000);

    const other = makeKernel([plugin({ key: 'starts' }, { start: never })], ['starts']);
    const booted = other.kernel.boot();
    await until(() => other.state('starts') === 'starting');
    const begun = performance.now();
    await other.kernel.shutdown(Date.now() + 30_000);
    await booted;
    expect(performance.now() - begun).to.be.lessThan(8_000);
    expect(other.kernel.plugins.record('starts')).to.include({ state: 'disabled', lastFault: null });
    await made.stop();
    await other.stop();
  });
});

describe('the deadline of a shutdown', () => {
  it('shortens running waits, and leaves time for the later steps', async () => {
    const deadline = new ShutdownDeadline(() => Date.now());
    const order: string[] = [];
    for (const step of ['release', 'stop', 'abort', 'drain'] as const)
      deadline.after(step, 60_000, () => order.push(step));
    const cancelled = deadline.after('drain', 60_000, () => order.push('cancelled'));
    cancelled();
    const from = Date.now();
    deadline.begin(from + 400);
    await until(() => order.length === 4);
    expect(order).to.deep.equal(['drain', 'abort', 'stop', 'release']);
    expect(Date.now() - from).to.be.within(380, 15_000);
  });

  it('keeps a shorter limit', async () => {
    const deadline = new ShutdownDeadline(() => Date.now());
    deadline.begin(Date.now() + 60_000);
    let done = false;
    deadline.after('drain', 5, () => {
      done = true;
    });
    await until(() => done);
  });
});

function slow(key: string, onRun: (resolve: (value: object) => void) => void) {
  return plugin(
    { key, contributes: { tool: [key] } },
    {
      register: (host) =>
        void host.contribute('tool', key, {
          summary: 'Waits.',
          audience: ['mcp'],
          inputSchema: { type: 'object' },
          run: () => new Promise<object>((resolve) => onRun(resolve)),
        }),
    },
  );
}
