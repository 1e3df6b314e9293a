import { expect } from 'chai';
import { authorise, type Credentials } from '../governance/authorise.js';

const nothing: Credentials = {
  isKeyGiven: false,
  isKeyConfigured: true,
  isKeyValid: false,
  actor: null,
  isActorVerified: true,
  allowlist: ['alice'],
};
const wrongKey = { isKeyGiven: true };
const rightKey = { isKeyGiven: true, isKeyValid: true };

const cases: readonly [string, Partial<Credentials>, string][] = [
  ['nothing', {}, 'missing_credentials'],
  ['the right key', rightKey, 'admin_key'],
  ['the right key and an unlisted actor', { ...rightKey, actor: 'eve' }, 'admin_key'],
  ['a wrong key', wrongKey, 'invalid_admin_key'],
  ['a key when none is configured', { ...wrongKey, isKeyConfigured: false }, 'admin_key_not_configured'],
  ['a listed actor', { actor: 'alice' }, 'allowlist_user'],
  ['a listed actor and a wrong key', { ...wrongKey, actor: 'alice' }, 'allowlist_user'],
  [
    'a listed actor and a key when none is configured',
    { ...wrongKey, isKeyConfigured: false, actor: 'alice' },
    'allowlist_user',
  ],
  ['an unlisted actor', { actor: 'eve' }, 'user_not_in_allowlist'],
  ['an actor in different case', { actor: 'Alice' }, 'user_not_in_allowlist'],
  ['an actor when the list is empty', { actor: 'alice', allowlist: [] }, 'user_not_in_allowlist'],
  ['a listed actor that is only claimed', { actor: 'alice', isActorVerified: false }, 'user_not_in_allowlist'],
  ['an unlisted actor and a wrong key', { ...wrongKey, actor: 'eve' }, 'invalid_admin_key'],
];

describe('the authorisation of a policy change', () => {
  for (const [who, given, expected] of cases) {
    it(`${who}: ${expected}`, () => {
      const { kind, reason } = authorise({ ...nothing, ...given });
      expect(reason).to.equal(`governance_update:${expected}`);
      expect(kind).to.equal(['admin_key', 'allowlist_user'].includes(expected) ? 'allow' : 'reject');
    });
  }
});
