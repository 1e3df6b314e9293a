import { expect } from 'chai';
import * as fc from 'fast-check';
import type { MemoryHost } from 'mortise/contracts/memory-gateway/testing';
import { eachDatabase } from 'mortise/sdk/testing';
import { results, startMemory } from './memory-host.js';

const space = fc.constantFrom('private:a', 'private:b', 'team:default', 'org:x', 'team:', 'nope:x', undefined);
const request = fc.record(
  {
    payload_md: fc.oneof(
      fc.constantFrom('same', 'other', ' ', 'long '.repeat(400)),
      fc.string({ unit: 'binary', maxLength: 40 }),
    ),
    target_space: space,
    kind: fc.constantFrom('FACT', 'PROCEDURE', undefined),
    meta_json: fc.option(fc.dictionary(fc.string({ maxLength: 5 }), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 }), {
      nil: undefined,
    }),
    evidence: fc.constantFrom([], [{ uri: 'https://a', sha256: 'a'.repeat(64) }], [{ note: 1 }], undefined),
    evidence_refs: fc.constantFrom(['https://b'], [''], undefined),
    is_bulk: fc.boolean(),
    actor_user_id: fc.constantFrom('alice', 'eve', undefined),
  },
  { requiredKeys: ['payload_md'] },
);

describe('any sequence of stores', () => {
  eachDatabase(
    (engine) => {
      let memory: MemoryHost;
      before(async () => {
        memory = await startMemory(engine);
        await memory.host.service('logbook').users.add('alice');
        const { settings } = memory.host.service('logbook');
        await settings.update(
          'default',
          { teamWriteEnabled: true, policy: { evidence_mode: 'strict' } },
          { updatedBy: null },
        );
      });
      after(() => memory.stop());

      it('leaves one audit row per result that matches it, and all invariants hold', async function rules() {
        this.timeout(120_000);
        await fc.assert(
          fc.asyncProperty(fc.array(request, { minLength: 1, maxLength: 12 }), async (requests) => {
            const answers = await Promise.all(requests.map((body) => memory.store(body)));
            for (const [index, answer] of answers.entries()) {
              const rows = await memory.audits(answer);
              if (answer.status === 422) {
                expect(rows).to.deep.equal([]);
                continue;
              }
              expect(answer.status).to.equal(200);
              expect(rows).to.have.length(1);
              expect(rows[0]).to.deep.include({ action: answer.body.action, reason: answer.body.reason });
              expect(answer.body.ok).to.equal(answer.body.action !== 'reject');
              if (answer.body.ok !== true) continue;
              const [kept] = await memory.host
                .service('logbook')
                .ledger.byBackendIds('local', [String(answer.body.memory_id)]);
              expect(kept?.payload).to.equal(requests[index]?.payload_md);
              expect(kept?.space).to.equal(answer.body.space_written);
            }
            const { body } = await memory.get('/reliability/report');
            expect(body.message).to.equal(null);
          }),
          { numRuns: 15 },
        );
        expect((await memory.host.service('audit').verify()).broken).to.equal(null);
        const { rows } = await memory.database.statement<{ n: number }>(
          `select count(*) as n from (select space, payload_sha, meta_sha from {logbook.memories}
           group by space, payload_sha, meta_sha having count(*) > 1) doubled`,
        );
        expect(rows[0]?.n).to.equal(0);
      });

      it('shows memories only to queries of their space', async () => {
        const word = 'walrus';
        await memory.store({ payload_md: word, target_space: 'private:hidden' });
        await fc.assert(
          fc.asyncProperty(fc.constantFrom(word, `"${word}"`, '', 'wal*', '%'), space, async (query, asked) => {
            const answer = await memory.query({ query, ...(asked === undefined ? {} : { spaces: [asked] }) });
            if (answer.status !== 200) return;
            for (const item of results(answer)) expect(item.space).to.equal(asked ?? 'team:default');
          }),
          { numRuns: 30 },
        );
      });
    },
    { keepRows: true },
  );
});
