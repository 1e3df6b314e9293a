import { expect } from 'chai';
import { applyMergePatch } from '../merge-patch.js';

describe('a merge patch', () => {
  // The table of RFC 7396, appendix A, for targets and patches that are objects.
  for (const [target, patch, result] of [
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
    [{ a: 'b' }, { a: null }, {}],
    [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
    [{ key: { $secret: 'OLD' } }, { key: { inner: 1 } }, { key: { inner: 1 } }],
    [{ key: { a: 1 } }, { key: { $secret: 'NEW' } }, { key: { $secret: 'NEW' } }],
  ] as const) {
    it(`of ${JSON.stringify(target)} with ${JSON.stringify(patch)}`, () => {
      expect(applyMergePatch(target, patch)).to.deep.equal(result);
    });
  }

  it('treats __proto__ as a name like any other', () => {
    const merged = applyMergePatch({}, JSON.parse('{"__proto__":{"polluted":1}}'));
    expect(JSON.stringify(merged)).to.equal('{"__proto__":{"polluted":1}}');
    expect(({} as Record<string, unknown>).polluted).to.equal(undefined);
  });
});
