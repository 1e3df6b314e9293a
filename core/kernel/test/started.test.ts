import { expect } from 'chai';
import type { StopReason } from '../../sdk/plugin.js';
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

  it('may be missing, as may register() and start() themselves', async () => {
    made = makeKernel([{ manifest: { key: 'it' }, definition: () => ({ key: 'it' }) }], ['it']);
    await made.kernel.boot();
    expect(made.state('it')).to.equal('active');
    await made.stop();
  });
});
