import { expect } from 'chai';
import { authorise, type Credentials } from '../governance/authorise.js';

const nothing: Credentials = {
  isKeyGiven: false,
  isKeyConfigured: true,
  isKeyRight: false,
  actor: null,
  isActorProven: true,
  allowlist: ['alice'],
};
const wrongKey = { isKeyGiven: true };
const rightKey = { isKeyGiven: true, isKeyRight: true };

const cases: readonly [string, Partial<Credentials>, string][] = [
  ['nothing', {}, 'missing_credentials'],
  ['the right key', rightKey, 'admin_key'],
  ['the right key and an unlisted actor', { ...rightKey, actor: 'eve' }, 'admin_key'],
  ['a wrong key', wrongKey, 'invalid_admin_key'],
  ['a key where there is none', { ...wrongKey, isKeyConfigured: false }, 'admin_key_not_configured'],
  ['a listed actor', { actor: 'alice' }, 'allowlist_user'],
  ['a listed actor and a wrong key', { ...wrongKey, actor: 'alice' }, 'allowlist_user'],
  [
    'a listed actor and a key where there is none',
    { ...wrongKey, isKeyConfigured: false, actor: 'alice' },
    'allowlist_user',
  ],
  ['an unlisted actor', { actor: 'eve' }, 'user_not_in_allowlist'],
  ['an actor in other letters', { actor: 'Alice' }, 'user_not_in_allowlist'],
  ['an actor where nobody is listed', { actor: 'alice', allowlist: [] }, 'user_not_in_allowlist'],
  ['a listed actor that is only claimed', { actor: 'alice', isActorProven: false }, 'user_not_in_allowlist'],
  ['an unlisted actor and a wrong key', { ...wrongKey, actor: 'eve' }, 'invalid_admin_key'],
];

describe('who may change the policy', () => {
  for (const [who, given, expected] of cases) {
    it(`${who}: ${expected}`, () => {
      const { kind, reason } = authorise({ ...nothing, ...given });
      expect(reason).to.equal(`governance_update:${expected}`);
      expect(kind).to.equal(['admin_key', 'allowlist_user'].includes(expected) ? 'allow' : 'reject');
    });
  }
});
