import { expect } from 'chai';
import type { CallContext } from '../../sdk/context.js';
import type { StartHost } from '../../sdk/plugin.js';
import type { Tool } from '../../sdk/points/index.js';
import { currentPlugin } from '../attribution.js';
import { abortGraceMs } from '../lease.js';
import { type MadeKernel, makeKernel, plugin, until } from './kernel-fixture.js';

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
  /** What the monotonic clock is ahead of the real one. */
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

  const leases = (key: string) => made.kernel.record(key)?.run?.leases;
  const stats = (key: string) => made.kernel.registry.find('tool', key)?.stats;

  it('is counted while it lasts, and timed when it ends', async () => {
    let finish: (value: object) => void = () => undefined;
    await boot(withTool('it', () => new Promise((resolve) => (finish = resolve))));
    const pending = call('it');
    expect([leases('it')?.inFlight, stats('it')?.inFlight]).to.deep.equal([1, 1]);
    finish({});
    await pending;
    expect([leases('it')?.inFlight, stats('it')?.inFlight, stats('it')?.calls]).to.deep.equal([0, 0, 1]);
    expect(stats('it')?.percentile(0.5)).to.be.a('number');
  });

  it('hands on what the plugin throws, and counts it', async () => {
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

  it('ends at its time limit and tells the plugin', async () => {
    let told: unknown;
    await boot(
      withTool(
        'slow',
        ({ signal }) =>
          new Promise((_, reject) => {
            signal.addEventListener('abort', () => {
              told = codeOf(signal.reason);
              reject(signal.reason);
            });
          }),
      ),
    );
    expect(codeOf(await call('slow', { timeoutMs: 30 }).catch((error: unknown) => error))).to.equal('call_timeout');
    expect(told).to.equal('call_timeout');
    await until(() => leases('slow')?.inFlight === 0);
    expect(stats('slow')?.errors).to.equal(1);
  });

  it('ends at once when its caller leaves, whatever the plugin does, and is no failure of the plugin', async () => {
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

  it('is not begun for a caller that has left', async () => {
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

  it('shows a plugin that asks late that it was told to stop', async () => {
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

  it('leaves nothing on the signal of its caller', async () => {
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

  it('puts a plugin that goes on after its abort on record, once', async () => {
    await boot(withTool('deaf', () => new Promise(() => undefined)));
    const caller = new AbortController();
    const pending = call('deaf', { signal: caller.signal });
    caller.abort();
    await pending.catch(() => undefined);
    expect(made.kernel.record('deaf')?.lastFault).to.equal(null);
    ahead += abortGraceMs;
    await until(() => made.kernel.record('deaf')?.lastFault?.code === 'ignored_abort');
    ahead += abortGraceMs;
    await new Promise((resolve) => setTimeout(resolve, 60));
    expect(
      made.lines.filter((line) => line.includes('"code":"ignored_abort"') && line.startsWith('a plugin failed')),
    ).to.have.length(1);
  });

  it('names an unknown key and those there are', async () => {
    await boot(withTool('echo', () => ({})));
    const error = await call('ecko').catch((caught: unknown) => caught);
    expect(error).to.include({ code: 'contribution_unknown', status: 404, hint: 'There are: echo.' });
  });

  it('is on the account of the plugin that runs, through nested calls, awaits, timers and events', async () => {
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
