import { expect } from 'chai';
import type { Answer, Json } from 'mortise/contracts/memory-gateway/testing';
import { eachDatabase } from 'mortise/sdk/testing';
import { type GatewayHost, startGateway } from './gateway-host.js';

const sha = 'c'.repeat(64);
const evidence = [{ uri: 'https://example.org/1', sha256: sha }];

describe('storing a memory', () => {
  eachDatabase(
    (engine) => {
      let gateway: GatewayHost;
      before(async () => {
        gateway = await startGateway(engine);
      });
      beforeEach(() => gateway.govern(false));
      after(() => gateway.stop());

      it('redirects to the private space while team writing is off, with the reason', async () => {
        const answer = await gateway.store({ payload_md: 'Redirected' });
        expect(answer.status).to.equal(200);
        expect(answer.body).to.deep.include({
          ok: true,
          action: 'redirect',
          space_written: 'private:unknown',
          requested_space: 'team:default',
          final_space: 'private:unknown',
          reason: 'policy:team_write_disabled',
          message:
            'Stored in private:unknown instead of team:default: team writing is switched off (team_write_disabled).',
        });
        const [row, ...others] = await gateway.audits(answer);
        expect(others).to.deep.equal([]);
        expect(row).to.deep.include({
          action: 'redirect',
          reason: 'policy:team_write_disabled',
          status: 'success',
          operation: 'memory_store',
          targetSpace: 'private:unknown',
          principal: 'local',
        });
      });

      it('returns every member in the order of the contract', async () => {
        const { body, headers } = await gateway.store({ payload_md: 'Members', target_space: 'private:alice' });
        expect(Object.keys(body)).to.deep.equal([
          'ok',
          'action',
          'space_written',
          'memory_id',
          'evidence_refs',
          'message',
          'outbox_id',
          'outbox_status',
          'correlation_id',
          'reason',
          'requested_space',
          'final_space',
          'dedup',
        ]);
        expect(headers.get('x-correlation-id')).to.equal(body.correlation_id);
        expect(body.memory_id).to.match(/^fake_mk_[0-9a-hjkmnp-tv-z]{26}$/);
        expect(body).to.deep.include({ action: 'allow', message: null, outbox_id: null, dedup: false });
      });

      it('keeps private spaces apart', async () => {
        await gateway.store({ payload_md: 'The zebra sleeps', target_space: 'private:alice' });
        const found = async (space: string) => (await gateway.query({ query: 'zebra', spaces: [space] })).body.total;
        expect(await found('private:alice')).to.equal(1);
        expect(await found('private:bob')).to.equal(0);
      });

      it('refuses a space of unknown type', async () => {
        const answer = await gateway.store({ payload_md: 'Nowhere', target_space: 'foo:bar' });
        expect(answer.body).to.deep.include({ ok: false, action: 'reject', final_space: null });
        expect(answer.body.message).to.equal(
          'Rejected by policy: a space must start with private:, team: or org: (unknown_space_type).',
        );
        expect((await gateway.audits(answer)).map(({ action, status }) => [action, status])).to.deep.equal([
          ['reject', 'failed'],
        ]);
        expect(await gateway.count('logbook.memories', `space = 'foo:bar'`)).to.equal(0);
      });

      it('allows in a team space what its policy allows', async () => {
        await gateway.govern(true);
        const fact = await gateway.store({ payload_md: 'A fact', kind: 'FACT', evidence });
        expect(fact.body.reason).to.equal('policy:kind_not_allowed:FACT');
        const long = { kind: 'PROCEDURE', evidence };
        const fits = await gateway.store({ ...long, payload_md: '🙂'.repeat(1_200) });
        expect(fits.body).to.deep.include({
          action: 'allow',
          reason: 'policy:policy_passed',
          space_written: 'team:default',
        });
        const tooLong = await gateway.store({ ...long, payload_md: '🙂'.repeat(1_201) });
        expect(tooLong.body.reason).to.equal('policy:exceeds_max_chars:1201>1200');
        expect(tooLong.body.message).to.contain('1201 characters, limit 1200 (exceeds_max_chars:1201>1200)');
      });

      it('checks the allowlist before the other rules', async () => {
        await gateway.host.service('logbook').users.add('alice');
        await gateway.govern(true, { allowlist_users: ['bob'] });
        const { body } = await gateway.store({ payload_md: 'By alice', kind: 'FACT', actor_user_id: 'alice' });
        expect(body).to.deep.include({ reason: 'policy:user_not_in_allowlist', space_written: 'private:alice' });
      });

      it('applies a changed policy at once, and the default for a removed key', async () => {
        await gateway.govern(true, { max_chars: 5 });
        const store = async () =>
          (await gateway.store({ payload_md: `123456 ${Math.random()}`, evidence })).body.reason;
        expect(await store()).to.contain('exceeds_max_chars');
        await gateway.govern(true, { max_chars: null });
        expect(await store()).to.equal('policy:policy_passed');
      });

      it('stores everything that was given, and audits everything but the text', async () => {
        const { memory_id: id, ...given } = (
          await gateway.store({
            payload_md: '# Kept\nwith all members',
            target_space: 'private:kept',
            kind: 'DECISION',
            meta_json: { b: 1, a: { deep: ['x', null] } },
            evidence: [{ uri: `memory://attachments/1/${sha}`, sha256: sha, note: 'n' }],
            evidence_refs: ['https://example.org/2'],
            item_id: 7,
          })
        ).body;
        expect(given.evidence_refs).to.deep.equal([`memory://attachments/1/${sha}`, 'https://example.org/2']);
        const [memory] = await gateway.host.service('logbook').ledger.byBackendIds('fake', [String(id)]);
        expect(memory).to.deep.include({
          payload: '# Kept\nwith all members',
          payloadLength: 23,
          kind: 'DECISION',
          meta: { a: { deep: ['x', null] }, b: 1 },
          evidence: [
            { uri: `memory://attachments/1/${sha}`, sha256: sha, note: 'n' },
            { uri: 'https://example.org/2', sha256: '' },
          ],
          itemId: 7,
          state: 'active',
          backend: 'fake',
        });
        const { rows } = await gateway.host.service('audit').query({ correlationId: String(given.correlation_id) });
        expect(memory?.auditId).to.equal(rows[0]?.auditId);
        const json = rows[0]?.evidence ?? {};
        expect(json).to.deep.include({
          source: 'gateway',
          memory_id: id,
          memory_key: memory?.memoryKey,
          attachments: [{ uri: `memory://attachments/1/${sha}`, sha256: sha }],
          external: [{ uri: 'https://example.org/2', sha256: '' }],
        });
        expect(json).not.to.have.property('patches');
        expect(json.gateway_event).to.deep.include({
          schema_version: '2.0',
          source: 'gateway',
          operation: 'memory_store',
          requested_space: 'private:kept',
          final_space: 'private:kept',
          payload_len: 23,
          evidence_source: 'mixed',
          backend: 'fake',
          validation: { effective: false, reason: 'compat_default', findings: [] },
        });
        expect(JSON.stringify(rows)).not.to.contain('with all members');
      });

      it('warns of a secret without repeating it, and redacts it if the policy says so', async () => {
        const secret = 'x9'.repeat(12);
        const space = { target_space: 'private:secrets' };
        const warned = await gateway.store({ ...space, payload_md: `password=${secret}` });
        expect(warned.body.warnings).to.deep.equal(['the content holds what looks like a secret']);
        expect(JSON.stringify((await gateway.audits(warned))[0]?.evidence))
          .to.contain('"secrets":1')
          .and.not.contain(secret);
        await gateway.govern(false, { content_guard: { secret: 'redact' } });
        const redacted = await gateway.store({ ...space, payload_md: `api_key=${secret}` });
        expect(redacted.body.message).to.equal('One secret was removed from the text.');
        const [kept] = await gateway.host
          .service('logbook')
          .ledger.byBackendIds('fake', [String(redacted.body.memory_id)]);
        expect(kept?.payload).to.equal('api_key=[REDACTED]');
        await gateway.govern(false, { content_guard: { secret: 'reject' } });
        const rejected = await gateway.store({ ...space, payload_md: `token=${secret}` });
        expect(rejected.body.reason).to.equal('content_intercepted:secret');
        expect(gateway.host.logs.join('')).not.to.contain(secret);
      });

      const secretOf = (n: number) => `${n}`.padStart(4, 'k').repeat(6);
      const hidden = {
        payload_md: 'Where secrets hide.',
        target_space: 'private:hidden',
        meta_json: { db: { 'a/b': [`postgres://app:${secretOf(1)}@db/x`], password: secretOf(2) }, n: 1 },
        evidence: [{ uri: `https://example.org/?token=${secretOf(3)}`, notes: `Bearer ${secretOf(4)}` }],
        evidence_refs: [`https://example.org/${secretOf(5)}?token=${secretOf(5)}`],
      };
      const hidingPlaces = [
        '/meta_json/db/a~1b/0',
        '/meta_json/db/password',
        '/evidence/0/uri',
        '/evidence/0/notes',
        '/evidence_refs',
      ];
      const stored = async (answer: Answer) => {
        const { evidence_refs: _, ...rest } = answer.body;
        return JSON.stringify([rest, await gateway.audits(answer), gateway.host.logs]);
      };

      it('finds secrets in meta and evidence as in the text, and reports only their place', async () => {
        await gateway.govern(false, { content_guard: { secret: 'warn' } });
        const warned = await gateway.store(hidden);
        expect(warned.body.warnings).to.deep.equal(
          hidingPlaces.map((place) => `${place} holds what looks like a secret`),
        );
        expect(await stored(warned))
          .to.contain('"secrets":5')
          .and.not.match(/token=kkk|Bearer kkk|app:kkk|"kkk2/);

        await gateway.govern(false, { content_guard: { secret: 'redact' } });
        const redacted = await gateway.store(hidden);
        expect(redacted.body.message).to.equal(`5 secrets were removed from ${hidingPlaces.join(', ')}.`);
        const { ledger } = gateway.host.service('logbook');
        const [kept] = await ledger.byBackendIds('fake', [String(redacted.body.memory_id)]);
        expect(kept?.meta).to.deep.equal({
          db: { 'a/b': ['postgres://app:[REDACTED]@db/x'], password: '[REDACTED]' },
          n: 1,
        });
        expect(kept?.evidence).to.deep.equal([
          { uri: 'https://example.org/?token=[REDACTED]', notes: 'Bearer [REDACTED]' },
          { uri: `https://example.org/${secretOf(5)}?token=[REDACTED]`, sha256: '' },
        ]);
      });

      it('refuses a memory for a secret or a patch in any single place outside its text', async () => {
        await gateway.govern(false, { content_guard: { secret: 'reject', diff: 'reject' } });
        const { payload_md, target_space, meta_json, evidence, evidence_refs } = hidden;
        const rows: readonly [Json, string][] = [
          [{ meta_json }, 'secret:/meta_json/db/a~1b/0'],
          [{ meta_json: { 'api-key': secretOf(6) } }, 'secret:/meta_json/api-key'],
          [{ evidence }, 'secret:/evidence/0/uri'],
          [{ evidence: [{ uri: 'https://example.org', notes: evidence[0]?.notes }] }, 'secret:/evidence/0/notes'],
          [{ evidence_refs }, 'secret:/evidence_refs'],
          [{ meta_json: { patch: 'diff --git a/x b/x\n@@ -1 +1 @@\n-a\n+b' } }, 'diff:/meta_json/patch'],
        ];
        for (const [change, found] of rows) {
          const answer = await gateway.store({ payload_md, target_space, ...change });
          const [type, place] = found.split(':');
          expect(answer.body, found).to.deep.include({ ok: false, action: 'reject', memory_id: null });
          expect(answer.body.reason).to.equal(`content_intercepted:${type}`);
          expect(answer.body.message)
            .to.match(/^Rejected by policy: \//)
            .and.contain(`: ${place} `);
          expect(await stored(answer)).not.to.match(/token=kkk|Bearer kkk|app:kkk|"kkk[26]/);
        }
        const fine = { meta_json: { primary_key: 'users.id', tokens: 'many', secret: '' }, evidence: [{ uri: 'x:y' }] };
        expect((await gateway.store({ payload_md, target_space, ...fine })).body).to.include({ ok: true });
        await gateway.govern(false, {});
      });

      it('writes no text of a memory to the log, at any level', async () => {
        await gateway.store({ payload_md: 'Unmistakable walrus', target_space: 'private:log' });
        await gateway.query({ query: 'unmistakable', spaces: ['private:log'] });
        expect(gateway.host.logs.join('')).not.to.match(/walrus|unmistakable/i);
      });
    },
    { keepRows: true },
  );
});
