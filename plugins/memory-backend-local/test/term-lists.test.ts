import { expect } from 'chai';
import type { SearchEngine, TermAfter } from '../engine/search-engine.js';
import { cachedLists, maxListLength } from '../search/term-lists.js';

/** An engine over terms in memory, whose results can be delayed. */
function engineOf(index: Map<string, number[]>) {
  const asked: TermAfter[] = [];
  let held: Promise<void> | undefined;
  const matching = async (terms: readonly TermAfter[], limit: number): Promise<readonly (readonly number[])[]> => {
    asked.push(...terms);
    const found = terms.map(({ term, after }) => (index.get(term) ?? []).filter((seq) => seq > after).slice(0, limit));
    await held;
    return found;
  };
  return {
    engine: { matching } as unknown as SearchEngine,
    asked,
    delay() {
      const { promise, resolve } = Promise.withResolvers<void>();
      held = promise;
      return () => {
        held = undefined;
        resolve();
      };
    },
  };
}

const noCount = async () => new Map<string, number>();
const upTo = (last: number) => Array.from({ length: last }, (_, index) => index + 1);

describe('the cached lists of terms', () => {
  it('are read once, and then only extended', async () => {
    const index = new Map([['a', [1, 4]]]);
    const { engine, asked } = engineOf(index);
    const { lookUp } = cachedLists(engine, noCount);
    const seqsOf = async (last: number) => [...((await lookUp(['a'], { last, documents: 9 })).get('a')?.all ?? [])];
    expect(await seqsOf(5)).to.deep.equal([1, 4]);
    expect(await seqsOf(5)).to.deep.equal([1, 4]);
    expect(asked).to.deep.equal([{ term: 'a', after: 0 }]);
    index.set('a', [1, 4, 6]);
    expect(await seqsOf(6)).to.deep.equal([1, 4, 6]);
    expect(asked.slice(1)).to.deep.equal([{ term: 'a', after: 5 }]);
  });

  it('include a term that occurs for the first time', async () => {
    const index = new Map<string, number[]>();
    const { lookUp } = cachedLists(engineOf(index).engine, noCount);
    expect((await lookUp(['a'], { last: 500, documents: 500 })).get('a')?.df).to.equal(0);
    index.set('a', [501]);
    expect((await lookUp(['a'], { last: 501, documents: 501 })).get('a')?.df).to.equal(1);
  });

  it('contain only the count of a term with too many memories', async () => {
    const index = new Map([['a', upTo(maxListLength)]]);
    const { engine, asked } = engineOf(index);
    const { lookUp } = cachedLists(engine, async () => new Map([['a', 4_444]]));
    const at = (last: number) => lookUp(['a'], { last, documents: last });
    expect((await at(5_000)).get('a')?.all).to.have.length(maxListLength);
    index.set('a', [...upTo(maxListLength), 5_001]);
    expect((await at(5_010)).get('a')).to.deep.equal({ df: 4_444 });
    const before = asked.length;
    expect((await at(5_020)).get('a')).to.deep.equal({ df: 4_444 });
    expect(asked).to.have.length(before);
  });

  it('contain the memories with a term more than once, or all of a short list', async () => {
    const index = new Map([
      ['a', upTo(100)],
      ['_2_a', [3, 50]],
      ['b', [7, 8]],
    ]);
    const { lookUp } = cachedLists(engineOf(index).engine, noCount);
    const found = await lookUp(['a', 'b'], { last: 100, documents: 100 });
    expect([...(found.get('a')?.again ?? [])]).to.deep.equal([3, 50]);
    expect([...(found.get('b')?.again ?? [])]).to.deep.equal([7, 8]);
  });

  it('contain every memory once when searches overlap', async () => {
    const index = new Map([['a', [1, 2]]]);
    const slow = engineOf(index);
    const { lookUp } = cachedLists(slow.engine, noCount);
    await lookUp(['a'], { last: 2, documents: 2 });
    const release = slow.delay();
    index.set('a', [1, 2, 3]);
    const first = lookUp(['a'], { last: 3, documents: 3 });
    index.set('a', [1, 2, 3, 4]);
    const second = lookUp(['a'], { last: 4, documents: 4 });
    release();
    expect([...((await first).get('a')?.all ?? [])].slice(0, 3)).to.deep.equal([1, 2, 3]);
    expect([...((await second).get('a')?.all ?? [])]).to.deep.equal([1, 2, 3, 4]);
  });

  it('are cleared when memories are removed, also during a read', async () => {
    const index = new Map([['a', [1, 2]]]);
    const slow = engineOf(index);
    const { lookUp, clear } = cachedLists(slow.engine, noCount);
    const seqs = async () => [...((await lookUp(['a'], { last: 2, documents: 2 })).get('a')?.all ?? [])];
    const release = slow.delay();
    const reading = seqs();
    index.set('a', [2]);
    clear();
    release();
    expect(await reading).to.deep.equal([2]);
    index.set('a', [1]);
    clear();
    expect(await seqs()).to.deep.equal([1]);
  });

  it('are limited in total size', async () => {
    const index = new Map(upTo(40).map((n) => [`t${n}`, upTo(n)]));
    const { engine, asked } = engineOf(index);
    const { lookUp } = cachedLists(engine, noCount, 1_000);
    for (const term of index.keys()) {
      expect((await lookUp([term], { last: 40, documents: 40 })).get(term)?.df).to.equal(index.get(term)?.length);
    }
    const before = asked.length;
    await lookUp(['t1'], { last: 40, documents: 40 });
    expect(asked.length).to.be.greaterThan(before);
  });
});
