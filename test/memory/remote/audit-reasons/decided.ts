import { expect } from 'chai';
import type { Json } from 'mortise/contracts/memory-gateway/testing';
import type { PluginDefinition } from 'mortise/sdk';
import { refuseRows } from '../refuse-rows.js';
import type { RemoteMemory } from '../remote-memory.js';
import { becomeDue, byStore, put, queue, type ReasonGroup, type ReasonRow } from './reason-row.js';

const twice = async (memory: RemoteMemory, text: string) => [await put(memory, text), await put(memory, text)];
const withEvidence = (evidence: Json) => (memory: RemoteMemory) =>
  put(memory, JSON.stringify(evidence), { evidence: [evidence] });

const policyRows: readonly ReasonRow[] = [
  { ...byStore, reason: 'policy:private_space', action: 'allow', provoke: (memory) => put(memory, 'Private.') },
  { ...byStore, reason: 'dedup_hit', action: 'allow', provoke: (memory) => twice(memory, 'Twice.') },
  {
    ...byStore,
    reason: 'dedup_pending',
    action: 'redirect',
    async provoke(memory) {
      await queue(memory, 'Queued.');
      await put(memory, 'Queued.');
      await becomeDue(memory);
      await memory.deliver();
    },
  },
  {
    ...byStore,
    reason: 'actor_unknown:degrade',
    action: 'redirect',
    provoke: (memory) => put(memory, 'Of eve.', { actor_user_id: 'eve' }),
  },
  {
    ...byStore,
    reason: 'internal_error',
    action: 'reject',
    provoke: (memory) => put(memory, 'The check is broken.'),
  },
  {
    ...byStore,
    reason: 'probe:words',
    action: 'reject',
    provoke: (memory) => put(memory, 'The word is forbidden.'),
  },
  {
    ...byStore,
    reason: 'write_in_progress',
    action: 'reject',
    async provoke(memory) {
      await put(memory, 'Elsewhere.');
      const state = (from: string, to: string) =>
        memory.database.statement(
          `update {logbook.memories} set state = '${to}' where payload_md = 'Elsewhere.' and state = '${from}'`,
        );
      await state('active', 'writing');
      await put(memory, 'Elsewhere.');
      await state('writing', 'active');
    },
  },
];

const evidenceRows: readonly ReasonRow[] = [
  ['EVIDENCE_MISSING_URI', { sha256: 'a'.repeat(64) }],
  ['EVIDENCE_MISSING_SHA256', { uri: 'https://example.org/1' }],
  ['EVIDENCE_INVALID_SHA256', { uri: 'https://example.org/2', sha256: 'short' }],
  ['EVIDENCE_NOT_FOUND', { uri: `memory://attachments/404/${'a'.repeat(64)}`, sha256: 'a'.repeat(64) }],
].map(([code, item]) => ({
  ...byStore,
  reason: `EVIDENCE_VALIDATION_FAILED:${String(code)}`,
  action: 'reject' as const,
  provoke: withEvidence(item as Json),
}));

const strictRows: readonly ReasonRow[] = [
  ...evidenceRows,
  {
    ...byStore,
    reason: 'EVIDENCE_VALIDATION_FAILED:EVIDENCE_SHA256_MISMATCH',
    action: 'reject',
    async provoke(memory) {
      const { result } = await memory.call('evidence_upload', { content: 'hello', content_type: 'text/plain' });
      const uri = `memory://attachments/${String(result?.attachment_id)}/${'b'.repeat(64)}`;
      await withEvidence({ uri, sha256: 'b'.repeat(64) })(memory);
    },
  },
  {
    ...byStore,
    reason: 'content_intercepted:diff',
    action: 'reject',
    provoke: (memory) => put(memory, 'diff --git a/x b/x\n@@ -1 +1 @@\n-a\n+b'),
  },
  {
    ...byStore,
    reason: 'content_intercepted:log',
    action: 'reject',
    provoke: (memory) => put(memory, 'INFO started\n'.repeat(20)),
  },
  {
    ...byStore,
    reason: 'content_intercepted:secret',
    action: 'reject',
    provoke: (memory) => put(memory, `password=${'x9'.repeat(12)}`),
  },
];

const actorRows: readonly ReasonRow[] = [
  {
    reason: 'actor_autocreated',
    operation: 'actor_autocreate',
    source: 'gateway',
    action: 'allow',
    provoke: (memory) => put(memory, 'Of eve.', { actor_user_id: 'eve' }),
  },
  {
    ...byStore,
    reason: 'actor_autocreate_failed',
    action: 'reject',
    async provoke(memory) {
      const end = await refuseRows(memory, {
        event: 'insert',
        table: 'identity.users',
        when: `new.user_id = 'mallory'`,
      });
      const { body } = await put(memory, 'Of mallory.', { actor_user_id: 'mallory' });
      await end();
      expect(body).to.deep.include({ ok: false, action: 'error', reason: 'actor_autocreate_failed' });
    },
  },
];

/** A check that forbids one word and throws at another. */
const probe: PluginDefinition = {
  key: 'probe',
  register: (host) =>
    void host.contribute('memory-policy', 'words', {
      order: 0,
      tools: ['memory_store'],
      run({ content }) {
        if (content.includes('broken')) throw new Error('a bug');
        return content.includes('forbidden')
          ? { kind: 'reject', reason: 'words', message: 'the word is not welcome' }
          : { kind: 'pass' };
      },
    }),
};

/** Reasons of store decisions. */
export const decided: readonly ReasonGroup[] = [
  {
    platform: 'as shipped',
    options: {
      extra: [{ manifest: { key: 'probe', contributes: { 'memory-policy': ['words'] } }, definition: probe }],
    },
    rows: policyRows,
  },
  {
    platform: 'that is strict about evidence and content',
    options: {},
    policy: { evidence_mode: 'strict', content_guard: { diff: 'reject', log: 'reject', secret: 'reject' } },
    rows: strictRows,
  },
  {
    platform: 'that registers unknown actors as users',
    options: { env: { MORTISE_UNKNOWN_ACTOR_POLICY: 'auto_create' } },
    rows: actorRows,
  },
  {
    platform: 'that refuses unknown actors',
    options: { env: { MORTISE_UNKNOWN_ACTOR_POLICY: 'reject' } },
    rows: [
      {
        ...byStore,
        reason: 'actor_unknown:reject',
        action: 'reject',
        provoke: (memory) => put(memory, 'Of eve.', { actor_user_id: 'eve' }),
      },
    ],
  },
];
