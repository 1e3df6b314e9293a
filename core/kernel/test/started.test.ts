import { expect } from 'chai';
import type { StopReason } from '../../sdk/plugin.js';
import { until } from '../../sdk/testing/until.js';
import { type MadeKernel, makeKernel, plugin, TestConfig } from './kernel-fixture.js';

describe('what start() returns', () => {
  let made: MadeKernel;

  it('is called like the same functions of the definition, and before them', async () => {
    const seen: string[] = [];
    const config = new TestConfig({ limit: 1 });
    made = makeKernel(
      [
        {
          manifest: { key: 'it', config: 'config.schema.json', reload: 'live' },
          definition: () => ({
            key: 'it',
            stop: (reason: StopReason) => void seen.push(`definition: stop ${reason}`),
            async start() {
              const made = 'made by start';
              return {
                drain: () => void seen.push(`drain ${made}`),
                stop: (reason: StopReason) => void seen.push(`stop ${made} ${reason}`),
                health: () => ({ ok: true, detail: made }),
                reconfigure: () => {
                  seen.push(`reconfigure ${made}`);
                  return 'applied';
                },
              };
            },
          }),
        },
      ],
      ['it'],
      { config: async () => config },
    );
    await made.kernel.boot();
    expect((await made.control.inspect('it')).health).to.deep.equal({ ok: true, detail: 'made by start' });
    await made.control.configure('it', { limit: 2 });
    await made.kernel.drain(Date.now() + 1_000);
    await made.stop();
    expect(seen).to.deep.equal(['reconfigure made by start', 'drain made by start', 'stop made by start shutdown']);
  });

  it('fails the start when one of them is not a function', async () => {
    made = makeKernel([plugin({ key: 'it' }, { start: () => ({ stop: 'now' }) as never })], ['it']);
    await made.kernel.boot();
    expect(made.state('it')).to.equal('failed definition_invalid');
    await made.stop();
  });

  it('is stopped when the start was cancelled, and when it returns only after that', async () => {
    const seen: string[] = [];
    const { promise: late, resolve } = Promise.withResolvers<void>();
    made = makeKernel(
      [
        plugin(
          { key: 'it' },
          {
            start: async () => {
              made.kernel.plugins.record('it')?.run?.cancelStart();
              await late;
              return { stop: (reason: StopReason) => void seen.push(`stop ${reason}`) };
            },
          },
        ),
      ],
      ['it'],
    );
    await made.kernel.boot();
    expect([made.state('it'), seen]).to.deep.equal(['disabled', []]);
    resolve();
    await until(() => seen.length > 0);
    expect(seen).to.deep.equal(['stop disabled']);
    await made.stop();
  });

  it('is stopped when the contributions of the plugin cannot be published', async () => {
    const seen: string[] = [];
    const tool = {
      summary: 'One.',
      audience: ['agent' as const],
      inputSchema: { type: 'object' as const },
      run: async () => ({}),
    };
    const { promise: added, resolve } = Promise.withResolvers<void>();
    made = makeKernel(
      [
        plugin(
          { key: 'first', contributes: { tool: ['any__*'] } },
          {
            start: async (host) => {
              await added;
              host.contribute('tool', 'any__one', tool);
            },
          },
        ),
        plugin(
          { key: 'second', contributes: { tool: ['any__o*'] } },
          {
            start: async (host) => {
              host.contribute('tool', 'any__one', tool);
              resolve();
              await until(() => made.state('first') === 'active');
              return { stop: (reason: StopReason) => void seen.push(`stop ${reason}`) };
            },
          },
        ),
      ],
      ['first', 'second'],
    );
    await made.kernel.boot();
    expect(made.state('second')).to.equal('failed key_conflict');
    expect(seen).to.deep.equal(['stop failed']);
    await made.stop();
  });

  it('may be missing, as may register() and start() themselves', async () => {
    made = makeKernel([{ manifest: { key: 'it' }, definition: () => ({ key: 'it' }) }], ['it']);
    await made.kernel.boot();
    expect(made.state('it')).to.equal('active');
    await made.stop();
  });
});
