import { join } from 'node:path';
import { expect } from 'chai';
import { pathBelow } from '../folders.js';

describe('the path below a folder', () => {
  const below = (path: string) => pathBelow('/data/root', join('/data/root', path));

  it('is relative, and empty for the folder itself', () => {
    expect([below('.'), below('a/b'), below('a/../c')]).to.deep.equal(['', join('a', 'b'), 'c']);
  });

  it('may begin with two dots when that is part of a name', () => {
    expect([below('..hidden/a'), below('...')]).to.deep.equal([join('..hidden', 'a'), '...']);
  });

  it('is undefined for the parent, a sibling and another folder', () => {
    expect([below('..'), below('../root-2'), below('../..')]).to.deep.equal([undefined, undefined, undefined]);
  });
});
