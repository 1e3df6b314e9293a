import { expect } from 'chai';
import { EventBus } from '../event-bus.js';
import { makeKernel, plugin } from './kernel-fixture.js';

const alert = { source: 'test:it', severity: 'low', code: 'it', message: 'It.' } as const;

describe('an awaited event', () => {
  it('resolves when all listeners have finished, with their number and their errors', async () => {
    const errors: unknown[] = [];
    const bus = new EventBus((error) => errors.push(error));
    expect(await bus.emitAwaited('alert', alert)).to.deep.equal({ listeners: 0, errors: [] });
    const written: string[] = [];
    bus.on('alert', async ({ code }) => {
      await new Promise((resolve) => setTimeout(resolve, 5));
      written.push(code);
    });
    bus.on('alert', () => {
      throw new Error('no disk');
    });
    const { listeners, errors: failed } = await bus.emitAwaited('alert', alert);
    expect([listeners, written, (failed[0] as Error).message]).to.deep.equal([2, ['it'], 'no disk']);
    expect(errors).to.deep.equal(failed);
  });

  it('does not wait for a listener past its limit', async () => {
    const bus = new EventBus(() => undefined);
    bus.on('alert', () => new Promise(() => undefined));
    const { errors } = await bus.emitAwaited('alert', alert, { timeoutMs: 10 });
    expect(errors[0]).to.include({ code: 'listener_timeout', status: 504 });
  });

  it('reports a failing listener of a plugin, which is also a fault of the plugin', async () => {
    const made = makeKernel(
      [
        plugin(
          { key: 'writer' },
          {
            start: (host) => {
              host.on('alert', async () => {
                throw new Error('the book is full');
              });
            },
          },
        ),
        plugin({ key: 'reader' }, { start: (host) => void host.on('alert', () => undefined) }),
      ],
      ['writer', 'reader'],
    );
    await made.kernel.boot();
    const { listeners, errors } = await made.kernel.events.emitAwaited('alert', alert);
    expect([listeners, errors.map((error) => (error as Error).message)]).to.deep.equal([2, ['the book is full']]);
    expect(made.kernel.plugins.record('writer')?.lastFault?.code).to.equal('callback_failed');
    await made.stop();
  });
});
