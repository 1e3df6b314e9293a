import { expect } from 'chai';
import { mayUseSpace } from 'mortise/contracts/memory-gateway';
import type { Principal } from 'mortise/sdk';

const base: Principal = { id: 'local', admin: false, loopback: true, authenticated: false };

describe('the spaces of a key', () => {
  const rows: [string, Partial<Principal>, string, boolean][] = [
    ['no key at all', {}, 'private:bob', true],
    ['the one key of the server', { id: 'default', authenticated: true }, 'private:bob', true],
    ['the platform itself', { id: 'system' }, 'private:bob', false],
    ['its own private space', { id: 'k', actor: 'alice' }, 'private:alice', true],
    ['the private space of others', { id: 'k', actor: 'alice' }, 'private:bob', false],
    ['the private space of no actor', { id: 'k', actor: 'alice' }, 'private:unknown', false],
    ['team spaces by default', { id: 'k', actor: 'alice' }, 'team:any', true],
    ['org spaces by default', { id: 'k', actor: 'alice' }, 'org:any', true],
    ['only the spaces it names', { id: 'k', actor: 'alice', spaces: ['team:a*'] }, 'team:abc', true],
    ['no space it does not name', { id: 'k', actor: 'alice', spaces: ['team:a*'] }, 'team:b', false],
    ['its own private space beside those', { id: 'k', actor: 'alice', spaces: [] }, 'private:alice', true],
    ['a private space it names', { id: 'k', spaces: ['private:ci'] }, 'private:ci', true],
    ['no private space without an actor', { id: 'k' }, 'private:k', false],
    ['a glob that is no pattern', { id: 'k', spaces: ['team:a.c'] }, 'team:abc', false],
  ];
  for (const [what, principal, space, expected] of rows) {
    it(`${expected ? 'include' : 'exclude'}: ${what}`, () => {
      expect(mayUseSpace({ ...base, ...principal }, space)).to.equal(expected);
    });
  }
});
