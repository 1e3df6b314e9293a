import { expect } from 'chai';
import type { CallContext } from '../../sdk/context.js';
import type { StartHost } from '../../sdk/plugin.js';
import type { Tool } from '../../sdk/points/tool.js';
import { until } from '../../sdk/testing/until.js';
import { currentPlugin } from '../attribution.js';
import { abortGraceMs, patienceMs } from '../lease.js';
import { type MadeKernel, makeKernel, plugin } from './kernel-fixture.js';

type Run = (ctx: CallContext) => object | Promise<object>;

const tool = (run: Run): Tool => ({
  summary: 'It.',
  audience: ['mcp'],
  inputSchema: { type: 'object' },
  run: (_args, ctx) => run(ctx),
});

const withTool = (key: string, run: Run) =>
  plugin({ key, contributes: { tool: [key] } }, { register: (host) => void host.contribute('tool', key, tool(run)) });

const codeOf = (error: unknown): unknown => (error as { code?: unknown }).code;

describe('a leased call', () => {
  let made: MadeKernel;
  /** Milliseconds by which the monotonic clock is ahead of the real one. */
  let ahead = 0;
  afterEach(() => made.stop());

  async function boot(...plugins: Parameters<typeof makeKernel>[0]): Promise<void> {
    ahead = 0;
    made = makeKernel(
      plugins,
      plugins.map((one) => one.manifest.key),
      { clock: { now: () => Date.now(), monotonic: () => performance.now() + ahead } },
    );
    await made.kernel.boot();
  }

  const call = (key: string, options?: Parameters<MadeKernel['kernel']['points']['call']>[3]) =>
    made.kernel.points.call(
      'tool',
      key,
      (it, ctx) => it.run({}, { ...ctx, signal: ctx.signal, caller: 'mcp' }),
      options,
    );

  const leases = (key: string) => made.kernel.plugins.record(key)?.run?.leases;
  const stats = (key: string) => made.kernel.registry.find('tool', key)?.stats;

  it('is counted while it runs, and timed when it ends', async () => {
    let finish: (value: object) => void = () => undefined;
    await boot(withTool('it', () => new Promise((resolve) => (finish = resolve))));
    const pending = call('it');
    expect([leases('it')?.inFlight, stats('it')?.inFlight]).to.deep.equal([1, 1]);
    finish({});
    await pending;
    expect([leases('it')?.inFlight, stats('it')?.inFlight, stats('it')?.calls]).to.deep.equal([0, 0, 1]);
    expect(stats('it')?.percentile(0.5)).to.be.a('number');
  });

  it('is watched by a timer that runs only while a call is open', async () => {
    let finish: (value: object) => void = () => undefined;
    await boot(withTool('it', () => new Promise((resolve) => (finish = resolve))));
    const { sweep } = made.kernel;
    await until('no call is open', () => !sweep.running);
    for (let round = 0; round < 2; round += 1) {
      const pending = call('it');
      expect(sweep.running).to.equal(true);
      finish({});
      await pending;
      await until('the timer has ended', () => !sweep.running);
    }
  });

  it('passes on errors of the plugin, and counts them', async () => {
    await boot(
      withTool('throws', () => {
        throw new Error('at once');
      }),
      withTool('rejects', async () => {
        throw new Error('later');
      }),
    );
    expect(await call('throws').catch(String)).to.equal('Error: at once');
    expect(await call('rejects').catch(String)).to.equal('Error: later');
    expect([stats('throws')?.errors, stats('rejects')?.errors]).to.deep.equal([1, 1]);
    expect(leases('throws')?.inFlight).to.equal(0);
  });

  it('ends at its time limit and aborts the signal of the plugin', async () => {
    let reported: unknown;
    await boot(
      withTool(
        'slow',
        ({ signal }) =>
          new Promise((_, reject) => {
            signal.addEventListener('abort', () => {
              reported = codeOf(signal.reason);
              reject(signal.reason);
            });
          }),
      ),
    );
    expect(codeOf(await call('slow', { timeoutMs: 30 }).catch((error: unknown) => error))).to.equal('call_timeout');
    expect(reported).to.equal('call_timeout');
    await until(() => leases('slow')?.inFlight === 0);
    expect(stats('slow')?.errors).to.equal(1);
  });

  it('ends immediately when its caller aborts, without a failure of the plugin', async () => {
    let finish: (value: object) => void = () => undefined;
    await boot(withTool('deaf', () => new Promise((resolve) => (finish = resolve))));
    const caller = new AbortController();
    const pending = call('deaf', { signal: caller.signal });
    caller.abort();
    expect(codeOf(await pending.catch((error: unknown) => error))).to.equal('call_aborted');
    expect(leases('deaf')?.inFlight, 'the plugin has not let go').to.equal(1);
    finish({});
    await until(() => leases('deaf')?.inFlight === 0);
    expect([stats('deaf')?.calls, stats('deaf')?.errors]).to.deep.equal([1, 0]);
  });

  it('is not begun for a caller that has aborted', async () => {
    let begun = false;
    await boot(
      withTool('it', () => {
        begun = true;
        return {};
      }),
    );
    const error = await call('it', { signal: AbortSignal.abort() }).catch((caught: unknown) => caught);
    expect([codeOf(error), begun]).to.deep.equal(['call_aborted', false]);
  });

  it('shows the abort to a plugin that reads its signal late', async () => {
    let context: CallContext | undefined;
    let finish: () => void = () => undefined;
    await boot(
      withTool('lazy', (ctx) => {
        context = ctx;
        return new Promise((resolve) => (finish = () => resolve({})));
      }),
    );
    const caller = new AbortController();
    const pending = made.kernel.points.call('tool', 'lazy', (it, ctx) => it.run({}, ctx as never), {
      signal: caller.signal,
    });
    caller.abort();
    await pending.catch(() => undefined);
    expect(context?.signal.aborted).to.equal(true);
    finish();
  });

  it('leaves no listener on the signal of its caller', async () => {
    await boot(withTool('it', async () => ({})));
    const caller = new AbortController();
    let listeners = 0;
    const { signal } = caller;
    const add = signal.addEventListener.bind(signal);
    const remove = signal.removeEventListener.bind(signal);
    signal.addEventListener = (...args: Parameters<typeof add>) => {
      listeners += 1;
      add(...args);
    };
    signal.removeEventListener = (...args: Parameters<typeof remove>) => {
      listeners -= 1;
      remove(...args);
    };
    for (let count = 0; count < 10; count += 1) await call('it', { signal });
    expect(listeners).to.equal(0);
  });

  it('counts a fault of a plugin that ignores an abort, once', async () => {
    await boot(withTool('deaf', () => new Promise(() => undefined)));
    const caller = new AbortController();
    const pending = call('deaf', { signal: caller.signal });
    caller.abort();
    await pending.catch(() => undefined);
    expect(made.kernel.plugins.record('deaf')?.lastFault).to.equal(null);
    ahead += patienceMs + abortGraceMs;
    await until(() => made.kernel.plugins.record('deaf')?.lastFault?.code === 'ignored_abort');
    ahead += abortGraceMs;
    await new Promise((resolve) => setTimeout(resolve, 60));
    expect(
      made.lines.filter((line) => line.includes('"code":"ignored_abort"') && line.startsWith('a plugin failed')),
    ).to.have.length(1);
  });

  it('counts no fault of a plugin while another one blocks the database', async () => {
    let blocker: string | undefined = 'holder';
    let asked = 0;
    ahead = 0;
    made = makeKernel([withTool('waits', () => new Promise(() => undefined))], ['waits'], {
      clock: { now: () => Date.now(), monotonic: () => performance.now() + ahead },
      blocker: () => {
        asked += 1;
        return blocker;
      },
    });
    await made.kernel.boot();
    await call('waits', { timeoutMs: 1 }).catch(() => undefined);
    ahead += patienceMs + abortGraceMs;
    await until(() => asked > 1);
    expect(made.kernel.plugins.record('waits')?.lastFault).to.equal(null);
    blocker = undefined;
    await until(() => made.kernel.plugins.record('waits')?.lastFault?.code === 'ignored_abort');
  });

  it('counts no fault of a slow plugin whose callers are impatient', async () => {
    await boot(withTool('slow', () => new Promise(() => undefined)));
    const left = new AbortController();
    const aborted = call('slow', { signal: left.signal }).catch((error: unknown) => error);
    left.abort();
    expect(await aborted).to.include({ code: 'call_aborted' });
    expect(await call('slow', { timeoutMs: 1 }).catch((error: unknown) => error)).to.include({ code: 'call_timeout' });
    ahead += patienceMs;
    await call('slow', { timeoutMs: 1 }).catch(() => undefined);
    expect(made.kernel.plugins.record('slow')?.lastFault).to.equal(null);
    ahead += abortGraceMs;
    await until(() => made.kernel.plugins.record('slow')?.lastFault?.code === 'ignored_abort');
  });

  const never = () => new Promise<never>(() => undefined);
  const lastFault = (key: string) => made.kernel.plugins.record(key)?.lastFault?.code;

  /** A plugin that calls others, with the function that it runs on a leased tool. */
  async function bootWithCaller(run: Run): Promise<StartHost['points']> {
    let points: StartHost['points'] | undefined;
    const caller = plugin(
      { key: 'caller' },
      {
        start: (host) => {
          ({ points } = host);
        },
      },
    );
    await boot(withTool('it', run), caller);
    if (!points) throw new Error('The caller has not started.');
    return points;
  }

  it('counts the fault of a caller that continues after the plugin has answered', async () => {
    const points = await bootWithCaller(async () => ({}));
    const linger = (it: Tool, ctx: CallContext) => Promise.resolve(it.run({}, ctx as never)).then(never);
    await points.call('tool', 'it', linger, { timeoutMs: 1 }).catch(() => undefined);
    ahead += patienceMs + abortGraceMs;
    await until(() => lastFault('caller') === 'ignored_abort');
    expect(lastFault('it')).to.equal(undefined);
    expect(made.kernel.plugins.record('caller')?.lastFault?.message).to.match(/^what it does with tool "it" went on/);
  });

  it('counts the fault of the plugin that has not answered, not of its caller', async () => {
    let calls = 0;
    async function* steps() {
      await never();
      yield {};
    }
    const points = await bootWithCaller(() => {
      calls += 1;
      return calls === 1 ? never() : steps();
    });
    const wait = (it: Tool, ctx: CallContext) => it.run({}, ctx as never);
    const readAll = async (it: Tool, ctx: CallContext) => {
      for await (const _ of it.run({}, ctx as never) as AsyncIterable<object>);
    };
    for (const use of [wait, readAll]) {
      await points.call('tool', 'it', use as typeof wait, { timeoutMs: 1 }).catch(() => undefined);
      ahead += patienceMs + abortGraceMs;
      await until(() => lastFault('it') === 'ignored_abort');
      expect(lastFault('caller')).to.equal(undefined);
      made.kernel.plugins.record('it')?.forgetFaults();
    }
  });

  it('wraps a contribution with all its members, including those of a class and its state', async () => {
    class Counter implements Tool {
      readonly summary = 'Counts.';
      readonly audience = ['mcp'] as const;
      readonly inputSchema = { type: 'object' };
      #count = 0;
      run = () => {
        this.#count += 1;
        return {};
      };
      normalise() {
        return { count: this.#count };
      }
    }
    const counter = new Counter();
    await boot(
      plugin(
        { key: 'it', contributes: { tool: ['it'] } },
        { register: (host) => void host.contribute('tool', 'it', counter) },
      ),
    );
    const seen = await made.kernel.points.call('tool', 'it', async (it, ctx) => {
      const { run } = it;
      await it.run({}, ctx as never);
      await run({}, ctx as never);
      return [it.summary, 'explain' in it, it instanceof Counter, it.normalise?.({})];
    });
    expect(seen).to.deep.equal(['Counts.', false, true, { count: 2 }]);
  });

  it('reports an unknown key and the known ones', async () => {
    await boot(withTool('echo', () => ({})));
    const error = await call('ecko').catch((caught: unknown) => caught);
    expect(error).to.include({ code: 'contribution_unknown', status: 404, hint: 'There are: echo.' });
  });

  it('is attributed to its plugin through nested calls, awaits, timers and events', async () => {
    const seen: (string | undefined)[] = [];
    const look = () => seen.push(currentPlugin());
    const inner = withTool('inner', async () => {
      look();
      await new Promise<void>((resolve) => setTimeout(resolve, 1));
      look();
      return {};
    });
    const outer = plugin(
      { key: 'outer', requires: ['inner'], contributes: { tool: ['outer'] } },
      {
        start: (host: StartHost) => {
          host.contribute(
            'tool',
            'outer',
            tool(async (ctx) => {
              look();
              await host.points.call('tool', 'inner', (it) => it.run({}, ctx as never), ctx);
              look();
              await Promise.resolve().then(look);
              await new Promise<void>((resolve) => {
                queueMicrotask(look);
                setImmediate(() => {
                  look();
                  resolve();
                });
              });
              return {};
            }),
          );
        },
      },
    );
    await boot(inner, outer);
    await call('outer');
    expect(seen).to.deep.equal(['outer', 'inner', 'inner', 'outer', 'outer', 'outer', 'outer']);
    expect(currentPlugin()).to.equal(undefined);
  });
});
