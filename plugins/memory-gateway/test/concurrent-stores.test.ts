import { expect } from 'chai';
import { runAfterFirst } from '../store/write-store.js';

describe('concurrent stores of one memory', () => {
  const turn = () => new Promise((resolve) => setImmediate(resolve));

  it('run the first alone, then the others together, and other memories in parallel', async () => {
    const running = new Map<string, Promise<unknown>>();
    const flight = <T>(key: string, work: () => Promise<T>) => runAfterFirst(running, key, work);
    const seen: string[] = [];
    const work = (name: string) => async () => {
      seen.push(`${name}+`);
      await turn();
      seen.push(`${name}-`);
      return name;
    };
    const all = await Promise.all([
      flight('k', work('a')),
      flight('k', work('b')),
      flight('k', work('c')),
      flight('x', work('d')),
    ]);
    expect(all).to.deep.equal(['a', 'b', 'c', 'd']);
    expect(seen.indexOf('d+')).to.be.lessThan(seen.indexOf('a-'));
    expect(seen.indexOf('b+')).to.be.greaterThan(seen.indexOf('a-'));
    expect(seen.indexOf('c+')).to.be.lessThan(seen.indexOf('b-'));
  });

  it('run the others even if the first failed, and forget the memory afterwards', async () => {
    const running = new Map<string, Promise<unknown>>();
    const flight = <T>(key: string, work: () => Promise<T>) => runAfterFirst(running, key, work);
    const failing = flight('k', async () => {
      await turn();
      throw new Error('first');
    });
    const other = flight('k', async () => 'other');
    expect(await failing.catch((error: Error) => error.message)).to.equal('first');
    expect(await other).to.equal('other');
    expect(await flight('k', async () => 'later')).to.equal('later');
  });
});
