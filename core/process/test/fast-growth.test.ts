import { expect } from 'chai';
import { FastGrowth } from '../heap-watch.js';

const minute = 60_000;

describe('a growth', () => {
  /** Whether the last of the sizes, one each minute, is one of a process that grows fast; its heap may hold 1,000. */
  function grows(...sizes: readonly number[]): boolean {
    const growth = new FastGrowth(1_000, 0);
    return sizes.map((size, index) => growth.isFast(size, index * minute)).at(-1) ?? false;
  }

  it('is fast when a quarter of the heap comes within minutes, and more than half of it is full', () => {
    expect(grows(100, 600)).to.equal(true);
    expect(grows(400, 450, 500, 700)).to.equal(true);
  });

  it('is not fast below half of the heap, nor when less than a quarter came', () => {
    expect(grows(100, 500)).to.equal(false);
    expect(grows(800, 1_000)).to.equal(false);
  });

  it('is not fast when it takes hours', () => {
    const slow = Array.from({ length: 100 }, (_, index) => 100 + 9 * index);
    expect(grows(...slow)).to.equal(false);
  });

  it('stays fast for a while at the limit of the heap, and ends when it stays there', () => {
    expect(grows(100, 900, 1_000, 1_000)).to.equal(true);
    expect(grows(100, 900, ...Array.from({ length: 6 }, () => 1_000))).to.equal(false);
  });
});
