import { expect } from 'chai';
import { listPage, MortiseError } from '../index.js';

describe('a page of a list', () => {
  const names = Array.from({ length: 1_203 }, (_, index) => `n${String(index).padStart(4, '0')}`);
  const page = (entries: readonly string[], limit: string | null, cursor: string | null = null) => {
    let next: string | undefined;
    const setHeader = (_: string, value: string): void => {
      next = value;
    };
    return { found: listPage(entries, (name) => name, { limit, cursor }, { setHeader }), next };
  };

  it('is the whole list up to 1,000 entries without a limit', () => {
    expect(page(names.slice(0, 1_000), null)).to.deep.equal({ found: names.slice(0, 1_000), next: undefined });
    expect(page(names, null).found).to.have.length(1_000);
    expect(page([], null)).to.deep.equal({ found: [], next: undefined });
  });

  it('leads to the next page until each entry was in a page', () => {
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const { found, next } = page(names, '250', cursor ?? null);
      seen.push(...found);
      cursor = next;
    } while (cursor !== undefined);
    expect(seen).to.deep.equal(names);
  });

  it('continues at its position when its last entry was deleted', () => {
    const { next = '' } = page(names, '3');
    const left = names.filter((name) => name !== 'n0002');
    expect(page(left, '2', next).found).to.deep.equal(['n0003', 'n0004']);
  });

  it('is refused for an invalid limit or cursor', () => {
    for (const limit of ['0', '-1', '1001', 'all', '1.5', '']) {
      expect(() => page(names, limit), limit).to.throw(MortiseError, 'limit must be an integer from 1 to 1000');
    }
    for (const cursor of [
      'zzz',
      '',
      Buffer.from('{}').toString('base64url'),
      Buffer.from('[1]').toString('base64url'),
    ]) {
      expect(() => page(names, '1', cursor), cursor).to.throw(MortiseError, 'invalid cursor');
    }
  });
});
