import { expect } from 'chai';
import type { Json, MemoryHost } from 'mortise/contracts/memory-gateway/testing';
import { eachDatabase } from 'mortise/sdk/testing';
import { startMemory } from './memory-host.js';

/** Differences from a request of alice with hashed evidence to a team space, with team writing on. */
interface Case {
  readonly request?: Json;
  readonly teamWrite?: false;
  readonly policy?: Json;
}

const hashed = [{ uri: 'https://example.org/proof', sha256: 'a'.repeat(64) }];
const bulk = { is_bulk: true };

/** Action and explanation in `message`, by reason. */
const outcomes: Readonly<Record<string, readonly ['allow' | 'redirect' | 'reject', string]>> = {
  policy_passed: ['allow', ''],
  private_space: ['allow', ''],
  unknown_space_type: ['reject', 'a space must start with private:, team: or org:'],
  invalid_space_name: ['reject', 'the space name is empty or malformed'],
  team_write_disabled: ['redirect', 'team writing is switched off'],
  user_not_in_allowlist: ['redirect', 'the actor is not on the allowlist'],
  'kind_not_allowed:FACT': [
    'redirect',
    'kind FACT is not allowed; allowed: PROCEDURE, REVIEW_GUIDE, PITFALL, DECISION',
  ],
  missing_evidence: ['redirect', 'shared spaces require evidence'],
  'exceeds_max_chars:1201>1200': ['redirect', '1201 characters, limit 1200'],
  bulk_too_long: ['redirect', 'bulk limit 200 characters'],
  bulk_not_allowed: ['redirect', 'bulk submissions are not allowed'],
};

const toSpace = (target_space: string): Case => ({ request: { target_space } });
const everything: Case = {
  request: { target_space: 'private:alice', kind: 'FACT', evidence: [], is_bulk: true },
  teamWrite: false,
  policy: { allowlist_users: ['bob'], max_chars: 1, bulk_mode: 'reject' },
};
const unlisted: Case = {
  request: { kind: 'FACT', evidence: [] },
  policy: { allowlist_users: ['bob'], max_chars: 1 },
};
const withoutUri = [{}, { uri: '  ', sha256: 'a'.repeat(64) }];

const rows: readonly (readonly [promise: string, given: Case, reason: keyof typeof outcomes])[] = [
  ['a space of unknown type is refused', toSpace('foo:bar'), 'unknown_space_type'],
  ['the type of a space is case-sensitive', toSpace('Team:demo'), 'unknown_space_type'],
  ['a space without a name is refused', toSpace('private:'), 'invalid_space_name'],
  ['a name of more than 200 characters is refused', toSpace(`team:${'x'.repeat(201)}`), 'invalid_space_name'],
  ['a name with control characters is refused', toSpace('private:a\u0000b'), 'invalid_space_name'],
  ['a name with blanks around it is refused', toSpace('org: x'), 'invalid_space_name'],
  ['private spaces accept everything', everything, 'private_space'],
  ['team spaces are closed while team writing is off', { teamWrite: false }, 'team_write_disabled'],
  ['org spaces follow the rules of team spaces', { ...toSpace('org:all'), teamWrite: false }, 'team_write_disabled'],
  [
    'an actor who is not on the allowlist is redirected',
    { policy: { allowlist_users: ['bob', 'Alice'] } },
    'user_not_in_allowlist',
  ],
  [
    'a request without an actor is not on the allowlist',
    { request: { actor_user_id: null }, policy: { allowlist_users: ['alice'] } },
    'user_not_in_allowlist',
  ],
  ['the allowlist is checked before the kind, the evidence and the length', unlisted, 'user_not_in_allowlist'],
  ['a kind that is not allowed is redirected', { request: { kind: 'FACT' } }, 'kind_not_allowed:FACT'],
  [
    'an empty list of kinds allows every kind',
    { request: { kind: 'FACT' }, policy: { allowed_kinds: [] } },
    'policy_passed',
  ],
  ['shared spaces require evidence', { request: { evidence: [] } }, 'missing_evidence'],
  ['a blank reference is not evidence', { request: { evidence: [], evidence_refs: [' ', ''] } }, 'missing_evidence'],
  ['evidence without a reference is not evidence', { request: { evidence: withoutUri } }, 'missing_evidence'],
  [
    'a plain reference is evidence',
    { request: { evidence: [], evidence_refs: ['https://example.org/plain'] } },
    'policy_passed',
  ],
  [
    'a text has at most 1,200 characters, however many bytes',
    { request: { payload_md: '🙂'.repeat(1_201) } },
    'exceeds_max_chars:1201>1200',
  ],
  ['a text of 1,200 characters passes', { request: { payload_md: '🙂'.repeat(1_200) } }, 'policy_passed'],
  ['bulk is short', { request: { ...bulk, payload_md: 'x'.repeat(201) } }, 'bulk_too_long'],
  ['bulk is refused if the policy says so', { request: bulk, policy: { bulk_mode: 'reject' } }, 'bulk_not_allowed'],
  [
    'long bulk passes if the policy says so',
    { request: { ...bulk, payload_md: 'y'.repeat(900) }, policy: { bulk_mode: 'allow' } },
    'policy_passed',
  ],
  ['a request that violates no rule passes', { request: { kind: 'PROCEDURE' } }, 'policy_passed'],
];

const policyKeys = ['allowlist_users', 'allowed_kinds', 'max_chars', 'bulk_mode'];

describe('the policy of a project', () => {
  eachDatabase(
    (engine) => {
      let memory: MemoryHost;
      before(async () => {
        memory = await startMemory(engine);
        await memory.host.service('logbook').users.add('alice');
      });
      after(() => memory.stop());

      const govern = (teamWriteEnabled: boolean, policy: Json) => {
        const cleared = Object.fromEntries(policyKeys.map((key) => [key, null]));
        const patch = { teamWriteEnabled, policy: { ...cleared, ...policy } };
        return memory.host.service('logbook').settings.update('default', patch, { updatedBy: 'test' });
      };

      for (const [index, [promise, { request, teamWrite = true, policy = {} }, reason]] of rows.entries()) {
        const [action, why] = outcomes[reason] ?? [];
        if (action === undefined) throw new Error(`no outcome for ${reason}`);
        it(`decides that ${promise} (${action} ${reason})`, async () => {
          await govern(teamWrite, policy);
          const asked: Json = { payload_md: `Row ${index}.`, evidence: hashed, actor_user_id: 'alice', ...request };
          const answer = await memory.store(asked);
          const requested = String(asked.target_space ?? 'team:default');
          const own = asked.actor_user_id === null ? 'private:unknown' : 'private:alice';
          const space = { allow: requested, redirect: own, reject: null }[action];
          expect(answer.status).to.equal(200);
          expect(answer.body).to.deep.include({
            ok: action !== 'reject',
            action,
            reason: `policy:${reason}`,
            requested_space: requested,
            space_written: space,
            final_space: space,
          });
          const messages = {
            allow: null,
            redirect: `Stored in ${own} instead of ${requested}: ${why} (${reason}).`,
            reject: `Rejected by policy: ${why} (${reason}).`,
          };
          expect(answer.body.message).to.equal(messages[action]);

          const [audit, ...others] = await memory.audits(answer);
          expect(others).to.deep.equal([]);
          expect(audit).to.deep.include({
            action,
            reason: `policy:${reason}`,
            operation: 'memory_store',
            status: action === 'reject' ? 'failed' : 'success',
            actorUserId: asked.actor_user_id,
          });
          const kept = await memory.count('logbook.memories', 'correlation_id = ?', answer.body.correlation_id);
          expect(kept).to.equal(action === 'reject' ? 0 : 1);
        });
      }
    },
    { keepRows: true },
  );
});
