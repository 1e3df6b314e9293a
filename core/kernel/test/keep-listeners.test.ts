import { once } from 'node:events';
import { expect } from 'chai';
import { currentPlugin, runMarked } from '../attribution.js';
import { keepListeners } from '../keep-listeners.js';

describe('the listeners of the process', () => {
  const event = 'mortise-test' as 'exit';
  const early = (): void => undefined;
  const late = (): void => undefined;
  let letGo: () => void = () => undefined;
  afterEach(() => {
    letGo();
    process.removeAllListeners(event);
    process.removeAllListeners('SIGUSR2');
  });

  it('stay when somebody removes them, one by one or all at once; later ones go', () => {
    process.on(event, early);
    letGo = keepListeners();
    process.on(event, late);
    process.off(event, early);
    expect(process.listeners(event)).to.deep.equal([early, late]);
    process.removeAllListeners(event);
    expect(process.listeners(event)).to.deep.equal([early]);
    letGo();
    process.off(event, early);
    expect(process.listeners(event)).to.deep.equal([]);
  });

  it('go by themselves when they are for one time only', () => {
    process.once(event, early);
    letGo = keepListeners();
    process.emit(event, 0);
    expect(process.listeners(event)).to.deep.equal([]);
  });

  if (process.platform !== 'win32')
    it('still get signals', async () => {
      process.on('SIGUSR2', early);
      letGo = keepListeners();
      process.removeAllListeners('SIGUSR2');
      expect(process.listeners('SIGUSR2')).to.deep.equal([early]);
      const told = once(process, 'SIGUSR2');
      process.kill(process.pid, 'SIGUSR2');
      expect((await told)[0]).to.equal('SIGUSR2');
    });

  if (process.platform !== 'win32')
    it('get signals on the account of the host, also after a plugin has removed them', async () => {
      const { promise, resolve } = Promise.withResolvers<string | undefined>();
      process.on('SIGUSR2', () => resolve(currentPlugin()));
      letGo = keepListeners();
      runMarked({ plugin: 'it' }, () => process.removeAllListeners('SIGUSR2'));
      process.kill(process.pid, 'SIGUSR2');
      expect(await promise).to.equal(undefined);
    });
});
