import { expect } from 'chai';
import type { Json } from 'mortise/contracts/memory-gateway/testing';
import { eachDatabase } from 'mortise/sdk/testing';
import { type GatewayHost, startGateway } from './gateway-host.js';

describe('the same memory twice', () => {
  eachDatabase(
    (engine) => {
      let gateway: GatewayHost;
      before(async () => {
        gateway = await startGateway(engine);
      });
      beforeEach(() => gateway.govern(false));
      after(() => gateway.stop());

      it('is stored once, and the second result has the id of the first', async () => {
        const memory = { payload_md: 'Once', target_space: 'private:once' };
        const first = await gateway.store(memory);
        const second = await gateway.store(memory);
        expect(second.body).to.deep.include({
          ok: true,
          action: 'allow',
          dedup: true,
          reason: 'dedup_hit',
          memory_id: first.body.memory_id,
        });
        expect(second.body.message).to.match(/^dedup_hit:/);
        expect(await gateway.count('logbook.memories', `space = 'private:once'`)).to.equal(1);
        const [row] = await gateway.audits(second);
        const [original] = await gateway.audits(first);
        expect(row).to.deep.include({ action: 'allow', reason: 'dedup_hit', status: 'success' });
        expect(row?.evidence.original_memory_key).to.equal(original?.memoryKey);
      });

      it('is redirected like the first one when the policy redirects', async () => {
        const first = await gateway.store({ payload_md: 'Redirected once' });
        const second = await gateway.store({ payload_md: 'Redirected once' });
        expect(second.body).to.deep.include({ action: 'redirect', dedup: true, memory_id: first.body.memory_id });
        expect(second.body.message).to.contain('team_write_disabled');
      });

      const others: [string, Json][] = [
        ['kind', { kind: 'FACT' }],
        ['meta', { meta_json: { a: 1 } }],
        ['evidence', { evidence_refs: ['https://a'] }],
        ['item', { item_id: 3 }],
        ['space', { target_space: 'private:other' }],
      ];
      it('is a different memory if kind, meta, evidence, item or space differ', async () => {
        const ids = new Set<unknown>();
        for (const [, change] of [['nothing', {}] as [string, Json], ...others]) {
          ids.add(
            (await gateway.store({ payload_md: 'Same text', target_space: 'private:same', ...change })).body.memory_id,
          );
        }
        expect(ids.size).to.equal(others.length + 1);
      });

      it('treats empty meta, empty evidence and null as absent', async () => {
        const memory = { payload_md: 'Empty members', target_space: 'private:empty' };
        const first = await gateway.store(memory);
        const second = await gateway.store({
          ...memory,
          meta_json: {},
          evidence: [],
          evidence_refs: [' '],
          kind: null,
        });
        expect(second.body).to.deep.include({ dedup: true, memory_id: first.body.memory_id });
      });

      it('is one row for fifty concurrent stores, each with its audit row', async () => {
        const memory = { payload_md: 'Fifty at once', target_space: 'private:fifty' };
        const answers = await Promise.all(Array.from({ length: 50 }, () => gateway.store(memory)));
        expect(new Set(answers.map(({ body }) => body.memory_id)).size).to.equal(1);
        expect(answers.filter(({ body }) => body.dedup === true)).to.have.length(49);
        expect(await gateway.count('logbook.memories', `space = 'private:fifty'`)).to.equal(1);
        const audits = await Promise.all(answers.map((answer) => gateway.audits(answer)));
        expect(audits.every((rows) => rows.length === 1)).to.equal(true);
      });

      it('is one row when two processes store it concurrently', async function atOnce() {
        if (engine.dialect === 'sqlite') this.timeout(30_000);
        const other = await startGateway(engine, engine.dialect === 'sqlite' ? { dataDir: gateway.host.dataDir } : {});
        try {
          for (let round = 0; round < 10; round += 1) {
            const memory = { payload_md: `Two processes ${round}`, target_space: 'private:two' };
            const answers = await Promise.all([gateway.store(memory), other.store(memory), other.store(memory)]);
            expect(new Set(answers.map(({ body }) => body.memory_id)).size).to.equal(1);
            expect(answers.map(({ body }) => body.ok)).to.deep.equal([true, true, true]);
          }
          expect(await gateway.count('logbook.memories', `space = 'private:two'`)).to.equal(10);
          expect((await gateway.host.service('audit').verify()).broken).to.equal(null);
        } finally {
          await other.stop();
        }
      });

      it('is two memories if the project keeps duplicates', async () => {
        await gateway.govern(false, { dedup: 'off' });
        const memory = { payload_md: 'Kept twice', target_space: 'private:twice' };
        const [first, second] = [await gateway.store(memory), await gateway.store(memory)];
        expect(second.body.dedup).to.equal(false);
        expect(second.body.memory_id).not.to.equal(first.body.memory_id);
      });

      it('returns the same outbox id, and adds nothing, if it is already in the outbox', async () => {
        const memory = { payload_md: 'Queued', target_space: 'private:queued' };
        const first = await gateway.store(memory);
        await gateway.database.statement(
          `update {logbook.memories} set state = 'queued', outbox_id = 41 where backend_memory_id = ?`,
          [String(first.body.memory_id)],
        );
        const second = await gateway.store(memory);
        expect(second.body).to.deep.include({
          ok: false,
          action: 'redirect',
          outbox_id: 41,
          outbox_status: 'pending',
          reason: 'dedup_pending',
        });
        expect(second.body.message).to.match(/^already queued/);
        const [row] = await gateway.audits(second);
        expect(row).to.deep.include({ action: 'redirect', reason: 'dedup_pending' });
        expect(row?.evidence.original_outbox_id).to.equal(41);
      });

      it('asks to retry if another process is writing it', async () => {
        const memory = { payload_md: 'Being written', target_space: 'private:writing' };
        const first = await gateway.store(memory);
        await gateway.database.statement(
          `update {logbook.memories} set state = 'writing' where backend_memory_id = ?`,
          [String(first.body.memory_id)],
        );
        const second = await gateway.store(memory);
        expect(second.body).to.deep.include({
          ok: false,
          action: 'error',
          error_code: 'WRITE_IN_PROGRESS',
          retryable: true,
        });
        expect((await gateway.audits(second)).map(({ reason }) => reason)).to.deep.equal(['write_in_progress']);
      });

      it('can be stored again after the backend rejected it permanently', async () => {
        const memory = { payload_md: 'Dead', target_space: 'private:dead' };
        const first = await gateway.store(memory);
        await gateway.database.statement(`update {logbook.memories} set state = 'dead' where backend_memory_id = ?`, [
          String(first.body.memory_id),
        ]);
        expect((await gateway.store(memory)).body).to.deep.include({ ok: true, dedup: false });
      });
    },
    { keepRows: true },
  );
});
