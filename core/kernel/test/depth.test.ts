import { expect } from 'chai';
import type { StartHost } from '../../sdk/plugin.js';
import { until } from '../../sdk/testing/until.js';
import { type MadeKernel, makeKernel, plugin } from './kernel-fixture.js';

const codeOf = (error: unknown): unknown => (error as { code?: unknown }).code;

describe('calls within calls', () => {
  let made: MadeKernel;
  afterEach(() => made.stop());

  /** A tool that calls itself until `n` is 0. */
  async function boot(again: (host: StartHost, n: number) => unknown): Promise<(n: number) => Promise<unknown>> {
    const recursive = plugin(
      { key: 'it', contributes: { tool: ['it'] } },
      {
        start: (host) => {
          host.contribute('tool', 'it', {
            summary: 'Calls itself.',
            audience: ['mcp'],
            inputSchema: { type: 'object' },
            run: async (args) => ({ left: args.n === 0 ? 0 : await again(host, Number(args.n) - 1) }),
          });
        },
      },
    );
    made = makeKernel([recursive], ['it']);
    await made.kernel.boot();
    return (n) => made.kernel.points.call('tool', 'it', (tool, ctx) => tool.run({ n }, { ...ctx, caller: 'mcp' }));
  }

  it('are refused when they are deeper than 64, and the plugin keeps running', async () => {
    const call = await boot((host, n) =>
      host.points.call('tool', 'it', (tool, ctx) => tool.run({ n }, { ...ctx, caller: 'mcp' })),
    );
    await call(63);
    expect(await call(64).catch(codeOf)).to.equal('call_too_deep');
    expect(await call(10_000).catch(codeOf)).to.equal('call_too_deep');
    expect(made.state('it')).to.equal('active');
    expect(made.kernel.plugins.record('it')?.run?.leases.inFlight).to.equal(0);
    await call(63);
  });

  it('are refused when they branch endlessly, while memory use stays small', async () => {
    let open = 0;
    let most = 0;
    let calls = 0;
    const branch = async (host: StartHost, n: number): Promise<unknown> => {
      // Many times the limit is enough to see that it holds.
      calls += 1;
      if (calls > 20_000 && n > 8) return undefined;
      open += 1;
      most = Math.max(most, open);
      const call = () => host.points.call('tool', 'it', (tool, ctx) => tool.run({ n }, { ...ctx, caller: 'mcp' }));
      try {
        await new Promise((resolve) => setImmediate(resolve));
        return await Promise.all([call(), call()]);
      } finally {
        open -= 1;
      }
    };
    const call = await boot(branch);
    expect(await call(10_000).catch(codeOf)).to.equal('too_many_calls');
    expect(most).to.be.within(1_000, 4_096);
    await until('the last call', () => made.kernel.plugins.record('it')?.run?.leases.inFlight === 0);
    expect(made.state('it')).to.equal('active');
    expect(await call(8)).to.be.an('object');
  });

  it('end with a code when two plugins call each other endlessly, while others are served', async () => {
    let open = 0;
    let most = 0;
    const calls = (key: string, other: string) =>
      plugin(
        { key, contributes: { tool: [key] } },
        {
          start: (host) => {
            host.contribute('tool', key, {
              summary: 'Calls the other.',
              audience: ['mcp'],
              inputSchema: { type: 'object' },
              run: async () => {
                open += 1;
                most = Math.max(most, open);
                try {
                  await new Promise((resolve) => setImmediate(resolve));
                  return await host.points.call('tool', other, (tool, ctx) => tool.run({}, { ...ctx, caller: 'mcp' }));
                } finally {
                  open -= 1;
                }
              },
            });
          },
        },
      );
    const bystander = plugin(
      { key: 'bystander', contributes: { tool: ['bystander'] } },
      {
        start: (host) => {
          host.contribute('tool', 'bystander', {
            summary: 'Answers.',
            audience: ['mcp'],
            inputSchema: { type: 'object' },
            run: async () => ({ ok: true }),
          });
        },
      },
    );
    made = makeKernel([calls('ping', 'pong'), calls('pong', 'ping'), bystander], ['ping', 'pong', 'bystander']);
    await made.kernel.boot();
    const call = (key: string) =>
      made.kernel.points.call('tool', key, (tool, ctx) => tool.run({}, { ...ctx, caller: 'mcp' }));
    const endless = Promise.all(Array.from({ length: 20 }, () => call('ping').catch(codeOf)));
    for (let round = 0; round < 20; round += 1) {
      expect(await call('bystander')).to.deep.equal({ ok: true });
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(new Set(await endless)).to.deep.equal(new Set(['call_too_deep']));
    expect(most).to.be.at.most(20 * 64);
    expect([open, made.state('ping'), made.state('pong')]).to.deep.equal([0, 'active', 'active']);
  });

  it('are counted through services', async () => {
    let audit: { write(n: number): Promise<unknown> } | undefined;
    const provider = plugin(
      { key: 'writer', provides: ['audit'], requires: ['it'] },
      {
        start: (host) => {
          const write = (n: number): Promise<unknown> =>
            host.points.call('tool', 'it', (tool, ctx) => tool.run({ n }, { ...ctx, caller: 'mcp' }));
          host.provide('audit', { write } as never);
        },
      },
    );
    const recursive = plugin(
      { key: 'it', optional: ['writer'], contributes: { tool: ['it'] } },
      {
        start: (host) => {
          const watched = host.watch('audit');
          host.contribute('tool', 'it', {
            summary: 'Calls itself.',
            audience: ['mcp'],
            inputSchema: { type: 'object' },
            run: async ({ n }) => ({ left: await (watched.current as unknown as typeof audit)?.write(Number(n) + 1) }),
          });
        },
      },
    );
    made = makeKernel([recursive, provider], ['it', 'writer']);
    await made.kernel.boot();
    audit = made.kernel.services.get('audit')?.value as typeof audit;
    expect(await audit?.write(0).catch(codeOf)).to.equal('call_too_deep');
  });

  it('do not include calls that have ended', async () => {
    let calls = 0;
    let done: () => void = () => undefined;
    const finished = new Promise<void>((resolve) => {
      done = resolve;
    });
    const call = await boot((host, n) => {
      setImmediate(() => {
        calls += 1;
        if (n === 0) done();
        void host.points.call('tool', 'it', (tool, ctx) => tool.run({ n }, { ...ctx, caller: 'mcp' }));
      });
    });
    await call(200);
    await finished;
    expect(calls).to.equal(200);
  });

  it('limit an event that is emitted in its own listener', async () => {
    let heard = 0;
    made = makeKernel(
      [
        plugin(
          { key: 'echo' },
          {
            start: (host) => {
              host.on('alert', (alert) => {
                heard += 1;
                host.emit('mcp-resource-updated', { uri: alert.code });
              });
              host.on('mcp-resource-updated', ({ uri }) =>
                host.emit('alert', { source: 'test:it', severity: 'low', code: uri, message: 'Again.' }),
              );
            },
          },
        ),
      ],
      ['echo'],
    );
    await made.kernel.boot();
    made.kernel.events.emit('mcp-resource-updated', { uri: 'it' });
    expect(heard).to.equal(32);
    expect(made.state('echo')).to.equal('active');
  });
});
