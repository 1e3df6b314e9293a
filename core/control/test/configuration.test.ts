import { expect } from 'chai';
import { echoPlugin, type MadeKernel, makeKernel, plugin, TestConfig } from '../../kernel/test/kernel-fixture.js';
import type { PluginConfig, PluginDefinition } from '../../sdk/plugin.js';

describe('a changed configuration', () => {
  let made: MadeKernel;
  let config: TestConfig;
  const notes: string[] = [];
  afterEach(() => made.stop());

  async function boot(
    parts: Partial<PluginDefinition>,
    reload: 'live' | 'restart' = 'restart',
    first: PluginConfig | null = { limit: 1 },
  ): Promise<void> {
    notes.length = 0;
    config = new TestConfig(first ?? undefined);
    made = makeKernel(
      [
        plugin(
          { key: 'it', config: 'config.schema.json', reload },
          {
            start: (host) => void notes.push(`start ${host.config.limit}`),
            stop: (reason) => void notes.push(`stop ${reason}`),
            ...parts,
          },
        ),
        echoPlugin('needs-it', { requires: ['it'], notes }),
      ],
      ['it', 'needs-it'],
      { config: async () => config },
    );
    await made.kernel.boot();
  }

  const settled = () => made.kernel.serial(async () => undefined);

  it('restarts the plugin and its dependants', async () => {
    await boot({});
    config.set({ limit: 2 });
    await settled();
    expect(notes).to.deep.equal([
      'start 1',
      'start needs-it',
      'stop needs-it',
      'stop reconfigure',
      'start 2',
      'start needs-it',
    ]);
  });

  it('is applied live by a plugin that supports it', async () => {
    await boot(
      {
        reconfigure: (next) => {
          notes.push(`reconfigure ${next.limit}`);
          return 'applied';
        },
      },
      'live',
    );
    expect(await made.control.configure('it', { limit: 2 })).to.deep.equal({ applied: 'live' });
    await settled();
    expect(notes).to.deep.equal(['start 1', 'start needs-it', 'reconfigure 2']);
  });

  it('restarts a plugin that refuses it, throws, or does not declare live reload', async () => {
    const fails = () => {
      throw new Error('no');
    };
    for (const [reconfigure, reload] of [
      [() => 'restart' as const, 'live'],
      [fails, 'live'],
      [() => 'applied' as const, 'restart'],
    ] as const) {
      await boot({ reconfigure }, reload);
      expect(await made.control.configure('it', { limit: 2 })).to.deep.equal({ applied: 'restarted' });
      await settled();
      expect(notes.filter((note) => note.startsWith('start '))).to.include('start 2');
      expect(notes.filter((note) => note === 'start 2')).to.have.length(1);
      await made.stop();
    }
  });

  it('blocks the plugin while it is invalid, and starts it once it is valid', async () => {
    await boot({}, 'restart', null);
    expect(made.state('it')).to.equal('blocked invalid_config');
    expect(made.control.list().find((row) => row.key === 'it')?.message).to.include('/limit must be a number');
    expect(made.state('needs-it')).to.equal('blocked dependency_not_active');
    config.set({ limit: 3 });
    await settled();
    expect([made.state('it'), made.state('needs-it')]).to.deep.equal(['active', 'active']);
    expect(notes).to.deep.equal(['start 3', 'start needs-it']);
  });

  it('that is invalid does not affect a running plugin, and is reported by the doctor', async () => {
    await boot({});
    const error = await made.control.configure('it', { limit: 'many' }).catch((caught: unknown) => caught);
    expect(error).to.include({ code: 'invalid_config', status: 422 });
    config.refuse('/limit', 'must be a number');
    expect(made.state('it')).to.equal('active');
    const row = made.control.list().find((one) => one.key === 'it');
    expect(row?.config_valid).to.equal(false);
    expect((await made.control.doctor('it')).map((found) => found.code)).to.deep.equal(['invalid_config']);
  });

  it('starts a plugin that failed with the old one', async () => {
    await boot({
      start: (host) => {
        if (host.config.limit === 1) throw new Error('too little');
      },
    });
    expect(made.state('it')).to.equal('failed start_failed');
    config.set({ limit: 2 });
    await settled();
    expect(made.state('it')).to.equal('active');
  });

  it('is not read for a disabled plugin', async () => {
    await boot({});
    await made.control.disable('it', { cascade: true });
    config.set({ limit: 2 });
    await settled();
    expect(made.state('it')).to.equal('disabled');
  });
});
