import { expect } from 'chai';
import { decide, defaultPolicy, effectivePolicy, type PolicyInput, privateSpaceOf } from '../policy/decide.js';

const good: PolicyInput = {
  space: 'team:demo',
  actorUserId: 'alice',
  kind: 'PROCEDURE',
  evidence: 1,
  length: 10,
  isBulk: false,
  teamWriteEnabled: true,
  policy: defaultPolicy,
};

function reasonOf(change: Partial<PolicyInput>, policy: Readonly<Record<string, unknown>> = {}): string {
  const { kind, reason } = decide({ ...good, ...change, policy: effectivePolicy(policy) });
  return `${kind} ${reason}`;
}

const rows: [string, string, Partial<PolicyInput>, Readonly<Record<string, unknown>>?][] = [
  ['knows private, team and org', 'reject unknown_space_type', { space: 'foo:bar' }],
  ['takes no other case', 'reject unknown_space_type', { space: 'Team:demo' }],
  ['wants a colon', 'reject unknown_space_type', { space: 'team' }],
  ['wants a name', 'reject invalid_space_name', { space: 'private:' }],
  ['wants no blanks around the name', 'reject invalid_space_name', { space: 'team: demo' }],
  ['wants no control characters', 'reject invalid_space_name', { space: 'team:a\u0007b' }],
  ['wants at most 200 characters', 'reject invalid_space_name', { space: `team:${'x'.repeat(201)}` }],
  ['takes a name of 200 emoji', 'allow policy_passed', { space: `team:${'🙂'.repeat(200)}` }],
  [
    'lets everything into private spaces',
    'allow private_space',
    { space: 'private:a', kind: 'FACT', evidence: 0, length: 1e6 },
  ],
  ['keeps shared spaces closed while team writing is off', 'redirect team_write_disabled', { teamWriteEnabled: false }],
  ['treats org like team', 'redirect team_write_disabled', { space: 'org:x', teamWriteEnabled: false }],
  ['asks the allowlist', 'redirect user_not_in_allowlist', {}, { allowlist_users: ['bob'] }],
  ['reads the allowlist by case', 'redirect user_not_in_allowlist', {}, { allowlist_users: ['Alice'] }],
  [
    'treats a request without an actor as not listed',
    'redirect user_not_in_allowlist',
    { actorUserId: null },
    { allowlist_users: ['alice'] },
  ],
  ['lets the listed in', 'allow policy_passed', {}, { allowlist_users: ['alice'] }],
  ['asks for an allowed kind', 'redirect kind_not_allowed:FACT', { kind: 'FACT' }],
  ['reads kinds by case', 'redirect kind_not_allowed:procedure', { kind: 'procedure' }],
  ['takes no kind for every kind', 'allow policy_passed', { kind: null }],
  ['takes an empty list of kinds for every kind', 'allow policy_passed', { kind: 'X' }, { allowed_kinds: [] }],
  ['asks for evidence', 'redirect missing_evidence', { evidence: 0 }],
  ['does without evidence where that is allowed', 'allow policy_passed', { evidence: 0 }, { require_evidence: false }],
  ['takes 1,200 characters', 'allow policy_passed', { length: 1_200 }],
  ['takes no 1,201 characters', 'redirect exceeds_max_chars:1201>1200', { length: 1_201 }],
  ['has a limit for bulk', 'redirect bulk_too_long', { isBulk: true, length: 201 }],
  ['takes short bulk', 'allow policy_passed', { isBulk: true, length: 200 }],
  ['refuses bulk where that is the policy', 'redirect bulk_not_allowed', { isBulk: true }, { bulk_mode: 'reject' }],
  [
    'takes long bulk where that is the policy',
    'allow policy_passed',
    { isBulk: true, length: 900 },
    { bulk_mode: 'allow' },
  ],
];

const order: [string, Partial<PolicyInput>][] = [
  ['team_write_disabled', { teamWriteEnabled: false }],
  ['user_not_in_allowlist', {}],
  ['kind_not_allowed:FACT', { actorUserId: 'bob' }],
  ['missing_evidence', { actorUserId: 'bob', kind: null }],
  ['exceeds_max_chars:1300>1200', { actorUserId: 'bob', kind: null, evidence: 1 }],
  ['bulk_too_long', { actorUserId: 'bob', kind: null, evidence: 1, length: 500 }],
];

describe('the policy', () => {
  for (const [promise, expected, change, policy] of rows) {
    it(promise, () => expect(reasonOf(change, policy)).to.equal(expected));
  }

  it('reports the first of several objections', () => {
    const worst = { kind: 'FACT', evidence: 0, length: 1_300, isBulk: true };
    for (const [reason, change] of order) {
      expect(reasonOf({ ...worst, ...change }, { allowlist_users: ['bob'] })).to.equal(`redirect ${reason}`);
    }
  });

  it('explains each objection', () => {
    const explained = decide({ ...good, kind: 'FACT' });
    expect(explained).to.have.property(
      'explanation',
      'kind FACT is not allowed; allowed: PROCEDURE, REVIEW_GUIDE, PITFALL, DECISION',
    );
  });

  it('redirects to the private space of the actor, or to private:unknown', () => {
    expect(privateSpaceOf('alice')).to.equal('private:alice');
    expect(privateSpaceOf(null)).to.equal('private:unknown');
  });

  it('uses the default for a stored value of the wrong type', () => {
    const read = effectivePolicy({
      max_chars: '5',
      allowed_kinds: 'FACT',
      bulk_mode: 'x',
      content_guard: { secret: 'loud' },
    });
    expect(read).to.deep.equal(defaultPolicy);
    expect(effectivePolicy({ max_chars: 500, content_guard: { diff: 'reject' } })).to.deep.include({
      max_chars: 500,
      content_guard: { diff: 'reject', log: 'off', secret: 'warn' },
    });
  });
});
