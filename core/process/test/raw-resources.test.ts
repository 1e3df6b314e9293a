import timers, { clearInterval as clearFromModule, setInterval as setFromModule } from 'node:timers';
import { expect } from 'chai';
import { runMarked } from '../../kernel/attribution.js';
import { rawResources, watchRawResources } from '../raw-resources.js';

describe('the intervals that a plugin left behind', () => {
  const plugin = 'leaking';
  before(watchRawResources);

  const inPlugin = <T>(run: () => T): T => runMarked({ plugin }, run);
  const start = (from: typeof setInterval = setInterval) => inPlugin(() => from(() => undefined, 60_000).unref());

  it('are recorded from the global scope and from node:timers', () => {
    const started = [start(), start(setFromModule), start(timers.setInterval)];
    expect(rawResources(plugin)).to.have.length(3);
    for (const timer of started) clearInterval(timer);
    expect(rawResources(plugin)).to.deep.equal([]);
  });

  const ends: Readonly<Record<string, (timer: NodeJS.Timeout) => unknown>> = {
    'clearInterval()': (timer) => clearInterval(timer),
    'clearInterval() of node:timers': (timer) => clearFromModule(timer),
    'clearTimeout()': (timer) => clearTimeout(timer),
    'clearInterval() with its number': (timer) => clearInterval(Number(timer)),
    'close()': (timer) => timer.close(),
    disposal: (timer) => timer[Symbol.dispose](),
  };
  for (const [way, end] of Object.entries(ends)) {
    it(`are forgotten when they are ended by ${way}`, () => {
      const timer = start();
      const other = start();
      expect(rawResources(plugin)).to.have.length(2);
      inPlugin(() => end(timer));
      expect(rawResources(plugin)).to.have.length(1);
      clearInterval(other);
    });
  }
});
