import { expect } from 'chai';
import type { Disposable } from '../../sdk/context.js';
import type { PluginDefinition, StartHost } from '../../sdk/plugin.js';
import type { GateStage } from '../../sdk/points/gate-stage.js';
import type { Tool } from '../../sdk/points/tool.js';
import { until } from '../../sdk/testing/until.js';
import { currentPlugin } from '../attribution.js';
import { echoPlugin, type MadeKernel, makeKernel, plugin } from './kernel-fixture.js';

const tool: Tool = { summary: 'It.', audience: ['mcp'], inputSchema: { type: 'object' }, run: () => ({}) };

describe('contributions of a key pattern', () => {
  let made: MadeKernel;
  let host: StartHost;
  afterEach(() => made.stop());

  async function boot(...others: Parameters<typeof makeKernel>[0]): Promise<void> {
    const bridge = plugin(
      { key: 'bridge', contributes: { tool: ['mcp__*', 'fixed'] } },
      {
        register: (given) => void given.contribute('tool', 'fixed', tool),
        start: (given) => {
          host = given;
        },
      },
    );
    const all = [bridge, ...others];
    made = makeKernel(
      all,
      all.map((one) => one.manifest.key),
    );
    await made.kernel.boot();
  }

  const keys = () => made.kernel.points.keys('tool');
  const codeOf = (run: () => unknown): unknown => {
    try {
      run();
    } catch (error) {
      return (error as { code?: unknown }).code;
    }
    return undefined;
  };

  it('may be added and removed while the plugin runs, and readers are notified', async () => {
    await boot();
    let heard = 0;
    const listening = made.kernel.points.onChange('tool', () => {
      heard += 1;
    });
    const added = host.contribute('tool', 'mcp__files__read', tool);
    expect(keys()).to.deep.equal(['fixed', 'mcp__files__read']);
    await added.dispose();
    await added.dispose();
    expect(keys()).to.deep.equal(['fixed']);
    expect(heard).to.equal(2);
    await listening.dispose();
  });

  it('may be withdrawn and added again under the same key', async () => {
    await boot();
    await host.contribute('tool', 'mcp__a', tool).dispose();
    host.contribute('tool', 'mcp__a', tool);
    expect(keys()).to.deep.equal(['fixed', 'mcp__a']);
  });

  it('are withdrawn with their plugin', async () => {
    await boot();
    host.contribute('tool', 'mcp__a', tool);
    await made.control.disable('bridge');
    expect(keys()).to.deep.equal([]);
    expect(codeOf(() => host.contribute('tool', 'mcp__b', tool))).to.equal('contribution_invalid');
  });

  it('are refused outside the pattern, with a duplicate key, with a wrong type, and when another plugin has the key', async () => {
    await boot(echoPlugin('mcp_taken'));
    expect(codeOf(() => host.contribute('tool', 'other', tool))).to.equal('contribution_undeclared');
    host.contribute('tool', 'mcp__a', tool);
    expect(codeOf(() => host.contribute('tool', 'mcp__a', tool))).to.equal('contribution_twice');
    expect(codeOf(() => host.contribute('tool', 'mcp--a', tool))).to.equal('contribution_twice');
    expect(codeOf(() => host.contribute('tool', 'mcp__b', {} as Tool))).to.equal('contribution_invalid');
    expect(codeOf(() => host.contribute('tool', 'mcp__B', tool))).to.equal('contribution_key');
    expect(keys()).to.deep.equal(['fixed', 'mcp__a', 'mcp_taken']);
  });

  it('cannot replace a fixed key while the plugin runs', async () => {
    await boot();
    expect(codeOf(() => host.contribute('tool', 'fixed', tool))).to.equal('contribution_invalid');
    expect(keys()).to.deep.equal(['fixed']);
  });

  it('allow only one of two plugins that add the same key while they start', async () => {
    let adding = 2;
    const starts = (key: string, pattern: string) =>
      plugin(
        { key, contributes: { tool: [pattern] } },
        {
          start: async (given) => {
            given.contribute('tool', 'x__y__z', tool);
            adding -= 1;
            await until(() => adding === 0);
          },
        },
      );
    await boot(starts('wide', 'x__*'), starts('narrow', 'x__y__*'));
    const states = [made.state('wide'), made.state('narrow')].sort();
    expect(states).to.deep.equal(['active', 'failed key_conflict']);
    expect(keys()).to.deep.equal(['fixed', 'x__y__z']);
  });
});

describe('facts of a contribution', () => {
  it('cannot be changed by readers, or by their own plugin after the check', async () => {
    const inputSchema = { type: 'object', properties: { text: { type: 'string' } } };
    const made = makeKernel(
      [
        plugin(
          { key: 'it', contributes: { tool: ['it'] } },
          { register: (host) => void host.contribute('tool', 'it', { ...tool, inputSchema }) },
        ),
      ],
      ['it'],
    );
    await made.kernel.boot();
    const facts = made.kernel.points.list('tool')[0]?.facts as unknown as { inputSchema: typeof inputSchema };
    expect(() => {
      facts.inputSchema.properties.text.type = 'number';
    }).to.throw(TypeError);
    inputSchema.properties.text.type = 'number';
    expect(facts.inputSchema.properties.text.type).to.equal('string');
    await made.stop();
  });
});

describe('watch()', () => {
  let made: MadeKernel;
  afterEach(() => made.stop());

  it('follows a service that appears and disappears, without a restart of the watching plugin', async () => {
    const seen: unknown[] = [];
    let watching: Disposable | undefined;
    let current: () => unknown = () => 'never asked';
    made = makeKernel(
      [
        plugin(
          { key: 'provider', provides: ['audit'] },
          { register: (host) => host.provide('audit', { name: 'audit' } as never) },
        ),
        plugin(
          { key: 'watcher', optional: ['provider'] },
          {
            start: (host: StartHost) => {
              const audit = host.watch('audit');
              current = () => audit.current;
              watching = audit.onChange((service) => {
                seen.push([service && (service as unknown as { name: string }).name, currentPlugin()]);
              });
            },
          },
        ),
      ],
      ['watcher'],
    );
    await made.kernel.boot();
    const { since } = made.kernel.plugins.record('watcher') ?? {};
    expect(current()).to.equal(undefined);
    await made.control.enable('provider');
    expect(current()).to.deep.equal({ name: 'audit' });
    await made.control.disable('provider');
    expect(current()).to.equal(undefined);
    expect(seen).to.deep.equal([
      ['audit', 'watcher'],
      [undefined, 'watcher'],
    ]);
    expect(made.kernel.plugins.record('watcher')).to.include({ state: 'active', since });
    await watching?.dispose();
    await made.control.enable('provider');
    expect(seen).to.have.length(2);
    await made.control.disable('watcher');
    expect(made.kernel.services.watcherCount()).to.equal(0);
  });

  it('returns no service of a plugin that is not in the manifest', async () => {
    let current: () => unknown = () => 'never asked';
    made = makeKernel(
      [
        plugin({ key: 'provider', provides: ['audit'] }, { register: (host) => host.provide('audit', {} as never) }),
        plugin(
          { key: 'stranger' },
          {
            start: (host: StartHost) => {
              const audit = host.watch('audit');
              current = () => audit.current;
            },
          },
        ),
      ],
      ['provider', 'stranger'],
    );
    await made.kernel.boot();
    expect(current()).to.equal(undefined);
  });
});

describe('a synchronous pipeline', () => {
  let made: MadeKernel;
  afterEach(() => made.stop());

  const stage = (apply: GateStage['apply']): GateStage => ({ slot: 'feature', order: 1, apply });

  it('attributes each stage to its plugin, counts it, and changes as a whole', async () => {
    const accounts: (string | undefined)[] = [];
    const staged = (key: string) =>
      plugin(
        { key, contributes: { 'gate-stage': [key] } },
        {
          register: (host) =>
            void host.contribute(
              'gate-stage',
              key,
              stage(() => {
                accounts.push(currentPlugin());
                if (key === 'b') throw new Error('b fails');
                return undefined as never;
              }),
            ),
        },
      );
    made = makeKernel([staged('a'), staged('b'), staged('c')], ['a', 'b']);
    await made.kernel.boot();
    const states = ['a', 'b'].map(made.state);
    expect(states).to.deep.equal(['active', 'active']);
    const pipeline = made.kernel.points.pipeline('gate-stage');
    const before = pipeline.stages;
    const run = () => before.map((one) => one.run((value) => (value as unknown as { apply(): unknown }).apply()));
    expect(run).to.throw('b fails');
    expect(accounts).to.deep.equal(['a', 'b']);
    expect(currentPlugin()).to.equal(undefined);
    expect(made.kernel.registry.all('gate-stage').map((one) => [one.stats.calls, one.stats.errors])).to.deep.equal([
      [1, 0],
      [1, 1],
    ]);
    // A failure that shows only after the pass is counted for the same plugin.
    before[0]?.failed();
    expect(made.kernel.registry.all('gate-stage')[0]?.stats).to.include({ calls: 1, errors: 1 });
    const { revision } = pipeline;
    await made.control.enable('c');
    await until(() => pipeline.revision > revision);
    expect(before.map((one) => one.key)).to.deep.equal(['a', 'b']);
    expect(pipeline.stages.map((one) => one.key)).to.deep.equal(['a', 'b', 'c']);
  });

  it('is refused for a point that is not synchronous', async () => {
    made = makeKernel([], []);
    expect(() => made.kernel.points.pipeline('tool')).to.throw('not synchronous');
  });
});

describe('an invalid argument of a plugin', () => {
  let made: MadeKernel;
  afterEach(() => made.stop());

  const problemOf = async (definition: PluginDefinition): Promise<string> => {
    made = makeKernel([{ manifest: { key: 'wrong' }, definition: () => definition }], ['wrong']);
    await made.kernel.boot();
    const record = made.kernel.plugins.record('wrong');
    return `${record?.state} ${record?.problem?.code}: ${record?.problem?.message}`;
  };

  const nothing = null as unknown as () => void;
  for (const [where, start] of [
    ['every(1000 ms)', (host) => host.every(1000, nothing)],
    ['cron("* * * * *")', (host) => host.cron('* * * * *', 'UTC', nothing)],
    ['on("alert")', (host) => host.on('alert', nothing)],
  ] as const satisfies readonly (readonly [string, (host: StartHost) => unknown])[]) {
    it(`is refused at the call: ${where}`, async () => {
      const message = await problemOf({ key: 'wrong', register() {}, start: (host) => void start(host) });
      expect(message).to.match(/^failed contribution_invalid: /);
      expect(message).to.contain(`host.${where} is wrong: its callback is null, not a function`);
    });
  }
});
