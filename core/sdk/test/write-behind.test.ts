import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { WriteBehind } from '../batching.js';

describe('writing behind', () => {
  const made = (write: (rows: readonly string[]) => Promise<void>, more = {}) => {
    const errors: unknown[] = [];
    const store = new WriteBehind<string>({ write, gaveUp: (error) => errors.push(error), everyMs: 5, ...more });
    return { store, errors };
  };

  it('stores the newest row of each key later, in the order of the keys', async () => {
    const batches: (readonly string[])[] = [];
    const { store } = made(async (rows) => void batches.push(rows), { batch: 2 });
    for (const row of ['a1', 'b1', 'c1', 'a2']) store.set(row.charAt(0), row);
    expect(batches).to.deep.equal([]);
    while (batches.length < 2) await sleep(2);
    expect(batches).to.deep.equal([['a2', 'b1'], ['c1']]);
  });

  it('retries rows that could not be stored, unless a newer row replaced them', async () => {
    const stored: string[] = [];
    let fails = 2;
    const { store, errors } = made(async (rows) => {
      store.set('a', 'a2');
      if (fails-- > 0) throw new Error('busy');
      stored.push(...rows);
    });
    store.set('a', 'a1');
    store.set('b', 'b1');
    while (stored.length < 2) await sleep(2);
    expect(stored.slice(0, 2)).to.deep.equal(['a2', 'b1']);
    expect(errors).to.deep.equal([]);
  });

  it('stops writing to a store that fails repeatedly', async () => {
    const { store, errors } = made(() => Promise.reject(new Error('gone')));
    store.set('a', 'a1');
    await store.flush();
    expect(errors).to.have.length(1);
    expect(store.open).to.equal(false);
    store.set('b', 'b1');
    await store.close();
    expect(errors).to.have.length(1);
  });

  it('stores pending rows when it is closed, and nothing afterwards', async () => {
    const stored: string[] = [];
    const { store } = made(async (rows) => void stored.push(...rows), { everyMs: 60_000, batch: 1 });
    store.set('a', 'a');
    store.set('b', 'b');
    await store.close();
    store.set('c', 'c');
    await sleep(5);
    expect(stored).to.deep.equal(['a', 'b']);
  });
});
