import { expect } from 'chai';
import { activeByKey, createContributionCache } from '../contribution-cache.js';
import type { Contribution, Points } from '../points.js';

function contribution(key: string, active = true): Contribution<'channel'> {
  return { key, plugin: `channel-${key}`, facts: {}, offers: [], active };
}

function pointsOf(read: () => readonly Contribution<'channel'>[]) {
  const listeners: (() => void)[] = [];
  const points: Pick<Points, 'list' | 'onChange'> = {
    list: (() => read()) as unknown as Points['list'],
    onChange(_point, run) {
      listeners.push(run);
      return { dispose: () => undefined };
    },
  };
  const change = () => {
    for (const run of listeners) run();
  };
  return { points, change };
}

describe('a contribution cache', () => {
  it('reads the contributions again only after a change', () => {
    let listed = [contribution('one')];
    let reads = 0;
    const { points, change } = pointsOf(() => {
      reads += 1;
      return listed;
    });
    const cache = createContributionCache(points, 'channel', activeByKey);
    expect(reads).to.equal(0);
    expect([cache.current.has('one'), cache.current.has('two'), reads]).to.deep.equal([true, false, 1]);
    listed = [contribution('two')];
    expect(cache.current.has('two')).to.equal(false);
    change();
    expect([cache.current.has('one'), cache.current.has('two'), reads]).to.deep.equal([false, true, 2]);
  });

  it('caches a value that is undefined', () => {
    let reads = 0;
    const { points } = pointsOf(() => {
      reads += 1;
      return [];
    });
    const cache = createContributionCache(points, 'channel', ([first]) => first);
    expect([cache.current, cache.current, reads]).to.deep.equal([undefined, undefined, 1]);
  });

  it('returns only active contributions by key', () => {
    const { points } = pointsOf(() => [contribution('one'), contribution('two', false)]);
    expect([...createContributionCache(points, 'channel', activeByKey).current.keys()]).to.deep.equal(['one']);
  });
});
