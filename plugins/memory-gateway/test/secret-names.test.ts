import { expect } from 'chai';
import type { Json } from 'mortise/contracts/memory-gateway/testing';
import { eachDatabase } from 'mortise/sdk/testing';
import { type GatewayHost, startGateway } from './gateway-host.js';

const token = `ghp_${'x9'.repeat(12)}`;
const other = `ghp_${'y8'.repeat(12)}`;

/** Every place of a request where the caller chooses a name, and how messages show it. */
const places: readonly (readonly [shown: string, request: Json])[] = [
  ['a name in /meta_json', { meta_json: { [token]: 1 } }],
  ['a name in /meta_json/deep/0', { meta_json: { deep: [{ [`postgres://me:${token}@db/x`]: 1 }] } }],
  ['a name in /evidence/0', { evidence: [{ uri: 'https://ci.example/1', [token]: 1 }] }],
  ['/kind', { kind: token }],
  ['/target_space', { target_space: `private:${token}` }],
  ['/actor_user_id', { actor_user_id: token }],
];

describe('names that are secrets', () => {
  eachDatabase(
    (engine) => {
      let gateway: GatewayHost;
      before(async () => {
        gateway = await startGateway(engine, { config: { 'memory-gateway': { unknown_actor_policy: 'auto_create' } } });
      });
      after(() => gateway.stop());

      let texts = 0;
      const store = async (request: Json) => {
        texts += 1;
        return gateway.store({ payload_md: `Text ${texts}`, target_space: 'private:names', ...request });
      };
      const guard = (secret: string) => gateway.govern(true, { content_guard: { secret }, require_evidence: false });
      const trail = async () => {
        const { rows } = await gateway.database.statement('select * from {governance.write_audit}');
        return JSON.stringify(rows);
      };

      it('are refused if the policy refuses secrets', async () => {
        await guard('reject');
        const before = await gateway.count('logbook.memories');
        for (const [shown, request] of places) {
          const { body } = await store(request);
          expect(body, shown).to.deep.include({ ok: false, action: 'reject', reason: 'content_intercepted:secret' });
          expect(body.message, shown).to.contain(`${shown} holds what looks like a secret`);
          expect(body.message).not.to.contain('x9x9');
        }
        expect(await gateway.count('logbook.memories')).to.equal(before);
        expect(await gateway.count('identity.users', `user_id = '${token}'`)).to.equal(0);
      });

      it('are redacted in member names, and refused in identifiers', async () => {
        await guard('redact');
        const { body } = await store({ meta_json: { [token]: 'one', [other]: 'two', fine: 3 } });
        expect(body).to.deep.include({ ok: true, action: 'allow' });
        expect(body.message).to.equal('2 secrets were removed from a name in /meta_json, a name in /meta_json.');
        const { rows } = await gateway.database.statement<{ meta_json: string }>(
          'select meta_json from {logbook.memories} where backend_memory_id = ?',
          [String(body.memory_id)],
        );
        const meta = gateway.database.codec.parseJson<Json>(rows[0]?.meta_json ?? '');
        expect(meta).to.deep.equal({ '[REDACTED]': 'one', '[REDACTED] (2)': 'two', fine: 3 });
        for (const [shown, request] of places.slice(3)) {
          expect((await store(request)).body, shown).to.deep.include({
            ok: false,
            reason: 'content_intercepted:secret',
          });
        }
      });

      it('cause a warning by default', async () => {
        await guard('warn');
        for (const [shown, request] of places) {
          const { body } = await store(request);
          expect(body, shown).to.deep.include({ ok: true, action: 'allow' });
          expect(body.warnings).to.deep.equal([`${shown} holds what looks like a secret`]);
        }
      });

      it('are in no audit row, whatever the policy allows', async () => {
        for (const secret of ['off', 'warn', 'reject']) {
          await guard(secret);
          for (const [, request] of places) await store(request);
          await store({ target_space: `foo:${token}` });
          await store({ target_space: 'team:docs', kind: token });
          await store({ target_space: 'team:docs', actor_user_id: token, kind: 'FACT' });
          await gateway.host.post('/governance/settings/update', {
            admin_key: 'none',
            actor_user_id: token,
            policy_json: { [token]: 1 },
          });
        }
        expect(await trail()).not.to.contain('x9x9');
        const reasons = await gateway.count('governance.write_audit', `reason = 'policy:kind_not_allowed:[REDACTED]'`);
        expect(reasons).to.be.above(0);
        const { rows } = await gateway.host.service('audit').query({ actor: token, space: `private:${token}` });
        expect(rows[0]).to.deep.include({ actorUserId: '[REDACTED]', targetSpace: 'private:[REDACTED]' });
      });
    },
    { keepRows: true },
  );
});
