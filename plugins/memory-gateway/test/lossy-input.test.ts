import { expect } from 'chai';
import type { Json } from 'mortise/contracts/memory-gateway/testing';
import { eachDatabase } from 'mortise/sdk/testing';
import { type GatewayHost, startGateway } from './gateway-host.js';

/** White space, zero-width characters, a filler, a soft hyphen, an empty braille cell. */
const invisible = '\u200b\u2060 \u3164\u00ad\ufeff\u2800';

describe('input that cannot be stored unchanged', () => {
  eachDatabase(
    (engine) => {
      let gateway: GatewayHost;
      before(async () => {
        gateway = await startGateway(engine, { env: { GOVERNANCE_ADMIN_KEY: 'k-0123456789abcdef' } });
      });
      after(() => gateway.stop());

      /** A body as it is on the wire: no JSON writer writes such numbers. */
      const send = async (path: string, body: string) => {
        const headers = { 'content-type': 'application/json' };
        const response = await gateway.host.fetch(path, { method: 'POST', headers, body });
        return { status: response.status, body: (await response.json()) as Json };
      };

      const numbers: readonly (readonly [path: string, body: string, place: readonly (string | number)[]])[] = [
        ['/memory/store', '{"payload_md":"x","meta_json":{"a":1e400}}', ['meta_json', 'a']],
        ['/memory/store', '{"payload_md":"x","meta_json":{"a/b":[null,{"c":-1e999}]}}', ['meta_json', 'a/b', 1, 'c']],
        ['/memory/store', '{"payload_md":"x","evidence":[{"uri":"u","line":1e309}]}', ['evidence', 0, 'line']],
        ['/memory/query', '{"query":"x","filters":{"meta":{"a":1e400}}}', ['filters', 'meta', 'a']],
        [
          '/governance/settings/update',
          '{"admin_key":"k-0123456789abcdef","policy_json":{"own":{"a":1e400}}}',
          ['policy_json', 'own', 'a'],
        ],
      ];
      for (const [path, body, place] of numbers) {
        it(`is refused: ${body} to ${path}`, async () => {
          const before = await gateway.count('logbook.memories');
          const answer = await send(path, body);
          expect(answer.status).to.equal(422);
          expect(answer.body).to.deep.include({ ok: false, reason: 'INVALID_PARAM_VALUE' });
          const [detail] = answer.body.detail as readonly { loc: unknown; msg: string }[];
          expect(detail?.loc).to.deep.equal(['body', ...place]);
          expect(detail?.msg).to.contain('must be a number that JSON can represent');
          expect(await gateway.count('logbook.memories')).to.equal(before);
        });
      }

      it('does not include null and the largest numbers, which are stored unchanged', async () => {
        const answer = await send(
          '/memory/store',
          '{"payload_md":"Large","meta_json":{"a":1.5e308,"b":null,"c":"1e400"}}',
        );
        expect([answer.status, answer.body.ok]).to.deep.equal([200, true]);
      });

      it('is an integer only in the form of JSON', async () => {
        for (const item_id of ['07', '-0', '+7', '7.0', '', ' 7']) {
          const { status, body } = await gateway.store({ payload_md: 'x', item_id });
          expect([status, body.reason], item_id).to.deep.equal([422, 'INVALID_PARAM_TYPE']);
        }
        expect((await gateway.store({ payload_md: 'Seven', item_id: '7' })).body.ok).to.equal(true);
        expect((await gateway.query({ query: 'x', top_k: '010' })).status).to.equal(422);
      });

      it('counts as empty if all of its characters are invisible', async () => {
        const refused: readonly Json[] = [{ payload_md: invisible }, { payload_md: 'x', actor_user_id: '\u200b' }];
        for (const request of refused) {
          const { status, body } = await gateway.store(request);
          expect([status, body.reason]).to.deep.equal([422, 'INVALID_PARAM_VALUE']);
        }
        const space = await gateway.store({ payload_md: 'x', target_space: 'private:\u200b' });
        expect(space.body).to.deep.include({ ok: false, reason: 'policy:invalid_space_name' });
        await gateway.govern(true, { allowed_kinds: [] });
        for (const evidence of [{ evidence: [{ uri: invisible }] }, { evidence_refs: ['\u200b'] }]) {
          const { body } = await gateway.store({ payload_md: 'Proved?', target_space: 'team:docs', ...evidence });
          expect(body).to.deep.include({ action: 'redirect', reason: 'policy:missing_evidence', evidence_refs: null });
        }
        const seen = { payload_md: `\u200bI${invisible}`, target_space: 'team:docs', evidence_refs: ['\u200bu'] };
        expect((await gateway.store(seen)).body).to.deep.include({ action: 'allow', space_written: 'team:docs' });
        const newest = await gateway.query({ query: '\u200b', spaces: ['team:docs'] });
        expect(newest.body).to.deep.include({ total: 1 });
      });
    },
    { keepRows: true },
  );
});
