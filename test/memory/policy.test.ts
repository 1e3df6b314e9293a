import { expect } from 'chai';
import type { Json, MemoryHost } from 'mortise/contracts/memory-gateway/testing';
import { eachDatabase } from 'mortise/sdk/testing';
import { startMemory } from './memory-host.js';

/** One row of the policy: the request and the settings, and what the result and the audit row must have. */
interface PolicyRow {
  readonly says: string;
  /** Beside the text; a team space, hashed evidence and the actor alice where nothing else is said. */
  readonly request?: Json;
  readonly teamWrite?: boolean;
  readonly policy?: Json;
  readonly action: 'allow' | 'redirect' | 'reject';
  readonly reason: string;
  /** What `message` says between the spaces and the reason; null where there is no message. */
  readonly why: string | null;
}

const hashed = [{ uri: 'https://example.org/proof', sha256: 'a'.repeat(64) }];
const bulk = { is_bulk: true };

const rows: readonly PolicyRow[] = [
  {
    says: 'a space of no known type is refused',
    request: { target_space: 'foo:bar' },
    action: 'reject',
    reason: 'unknown_space_type',
    why: 'a space must start with private:, team: or org:',
  },
  {
    says: 'the type of a space has one spelling',
    request: { target_space: 'Team:demo' },
    action: 'reject',
    reason: 'unknown_space_type',
    why: 'a space must start with private:, team: or org:',
  },
  {
    says: 'a space without a name is refused',
    request: { target_space: 'private:' },
    action: 'reject',
    reason: 'invalid_space_name',
    why: 'the space name is empty or malformed',
  },
  {
    says: 'a name of more than 200 characters is refused',
    request: { target_space: `team:${'x'.repeat(201)}` },
    action: 'reject',
    reason: 'invalid_space_name',
    why: 'the space name is empty or malformed',
  },
  {
    says: 'a name with control characters is refused',
    request: { target_space: 'private:a\u0000b' },
    action: 'reject',
    reason: 'invalid_space_name',
    why: 'the space name is empty or malformed',
  },
  {
    says: 'a name with blanks around it is refused',
    request: { target_space: 'org: x' },
    action: 'reject',
    reason: 'invalid_space_name',
    why: 'the space name is empty or malformed',
  },
  {
    says: 'private spaces take everything',
    request: { target_space: 'private:alice', kind: 'FACT', evidence: [], is_bulk: true },
    teamWrite: false,
    policy: { allowlist_users: ['bob'], max_chars: 1, bulk_mode: 'reject' },
    action: 'allow',
    reason: 'private_space',
    why: null,
  },
  {
    says: 'team spaces are closed while team writing is off',
    teamWrite: false,
    action: 'redirect',
    reason: 'team_write_disabled',
    why: 'team writing is switched off',
  },
  {
    says: 'org spaces follow the rules of team spaces',
    request: { target_space: 'org:all' },
    teamWrite: false,
    action: 'redirect',
    reason: 'team_write_disabled',
    why: 'team writing is switched off',
  },
  {
    says: 'who is not on the allowlist is redirected',
    policy: { allowlist_users: ['bob', 'Alice'] },
    action: 'redirect',
    reason: 'user_not_in_allowlist',
    why: 'the actor is not on the allowlist',
  },
  {
    says: 'a request without an actor is not on the allowlist',
    request: { actor_user_id: null },
    policy: { allowlist_users: ['alice'] },
    action: 'redirect',
    reason: 'user_not_in_allowlist',
    why: 'the actor is not on the allowlist',
  },
  {
    says: 'the allowlist is asked before the kind, the evidence and the length',
    request: { kind: 'FACT', evidence: [] },
    policy: { allowlist_users: ['bob'], max_chars: 1 },
    action: 'redirect',
    reason: 'user_not_in_allowlist',
    why: 'the actor is not on the allowlist',
  },
  {
    says: 'a kind that is not allowed is redirected',
    request: { kind: 'FACT' },
    action: 'redirect',
    reason: 'kind_not_allowed:FACT',
    why: 'kind FACT is not allowed; allowed: PROCEDURE, REVIEW_GUIDE, PITFALL, DECISION',
  },
  {
    says: 'an empty list of kinds allows every kind',
    request: { kind: 'FACT' },
    policy: { allowed_kinds: [] },
    action: 'allow',
    reason: 'policy_passed',
    why: null,
  },
  {
    says: 'shared spaces want evidence',
    request: { evidence: [] },
    action: 'redirect',
    reason: 'missing_evidence',
    why: 'shared spaces require evidence',
  },
  {
    says: 'a blank reference is no evidence',
    request: { evidence: [], evidence_refs: [' ', ''] },
    action: 'redirect',
    reason: 'missing_evidence',
    why: 'shared spaces require evidence',
  },
  {
    says: 'evidence that names nothing is no evidence',
    request: { evidence: [{}, { uri: '  ', sha256: 'a'.repeat(64) }] },
    action: 'redirect',
    reason: 'missing_evidence',
    why: 'shared spaces require evidence',
  },
  {
    says: 'a plain reference is evidence',
    request: { evidence: [], evidence_refs: ['https://example.org/plain'] },
    action: 'allow',
    reason: 'policy_passed',
    why: null,
  },
  {
    says: 'a text has at most 1,200 characters, however many bytes those are',
    request: { payload_md: '🙂'.repeat(1_201) },
    action: 'redirect',
    reason: 'exceeds_max_chars:1201>1200',
    why: '1201 characters, limit 1200',
  },
  {
    says: 'a text of 1,200 characters passes',
    request: { payload_md: '🙂'.repeat(1_200) },
    action: 'allow',
    reason: 'policy_passed',
    why: null,
  },
  {
    says: 'bulk is short',
    request: { ...bulk, payload_md: 'x'.repeat(201) },
    action: 'redirect',
    reason: 'bulk_too_long',
    why: 'bulk limit 200 characters',
  },
  {
    says: 'bulk is refused where that is the policy',
    request: bulk,
    policy: { bulk_mode: 'reject' },
    action: 'redirect',
    reason: 'bulk_not_allowed',
    why: 'bulk submissions are not allowed',
  },
  {
    says: 'long bulk passes where that is the policy',
    request: { ...bulk, payload_md: 'y'.repeat(900) },
    policy: { bulk_mode: 'allow' },
    action: 'allow',
    reason: 'policy_passed',
    why: null,
  },
  {
    says: 'what nothing speaks against passes',
    request: { kind: 'PROCEDURE' },
    action: 'allow',
    reason: 'policy_passed',
    why: null,
  },
];

const policyKeys = ['allowlist_users', 'allowed_kinds', 'max_chars', 'bulk_mode'];

describe('the policy of a project', () => {
  eachDatabase(
    (engine) => {
      let memory: MemoryHost;
      before(async function start() {
        this.timeout(30_000);
        memory = await startMemory(engine);
        await memory.host.service('logbook').users.add('alice');
      });
      after(() => memory.stop());

      const govern = (teamWriteEnabled: boolean, policy: Json) => {
        const cleared = Object.fromEntries(policyKeys.map((key) => [key, null]));
        const patch = { teamWriteEnabled, policy: { ...cleared, ...policy } };
        return memory.host.service('logbook').settings.update('default', patch, { updatedBy: 'test' });
      };

      for (const [index, { says, request, teamWrite = true, policy = {}, action, reason, why }] of rows.entries()) {
        it(`decides that ${says} (${action} ${reason.slice(0, 40)})`, async () => {
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
