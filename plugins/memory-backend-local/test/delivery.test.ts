import { expect } from 'chai';
import { extendContext, type MemoryItem, newUlid, type Transaction } from 'mortise/sdk';
import {
  createTestHost,
  databaseProbe,
  eachDatabase,
  memoryItem,
  type TestEngine,
  type TestHost,
} from 'mortise/sdk/testing';

describe('a memory that is delivered after its ledger row', () => {
  eachDatabase((engine: TestEngine) => {
    let host: TestHost;
    const probe = databaseProbe(['logbook']);

    before(async () => {
      host = await createTestHost({
        plugins: ['memory-backend-local'],
        database: engine.env,
        extra: [probe.plugin],
      });
    });
    after(() => host.stop());

    const deliver = (item: MemoryItem, trx?: Transaction) =>
      host.points.call('memory-backend', 'local', (backend, ctx) =>
        backend.store(item, { ...extendContext(ctx, { timeoutMs: 5_000 }), ...(trx && { trx }) }),
      );
    const rows = async (table: string) =>
      (await probe.database.statement<{ n: number }>(`select count(*) as n from {logbook.${table}}`)).rows[0]?.n;

    it('is stored once, however often it is delivered', async () => {
      const item = memoryItem(1, { memoryKey: `mk_${newUlid()}` });
      const first = await deliver(item);
      expect(first.id).to.match(/^mem_[0-9a-z]{26}$/);
      expect(await deliver(item)).to.deep.equal(first);
      expect([await rows('memory_documents'), await rows('memory_fts')]).to.deep.equal([1, 1]);
      const other = await deliver({ ...item, memoryKey: `mk_${newUlid()}` });
      expect(other.id).to.not.equal(first.id);
      expect([await rows('memory_documents'), await rows('memory_fts')]).to.deep.equal([2, 2]);
    });

    it('is stored once when the transaction of its ledger row delivers it again', async () => {
      const item = memoryItem(1, { memoryKey: `mk_${newUlid()}` });
      const first = await deliver(item);
      const counts = [await rows('memory_documents'), await rows('memory_fts')];
      const again = await probe.database.transaction((trx) => deliver(item, trx));
      expect(again).to.deep.equal(first);
      expect([await rows('memory_documents'), await rows('memory_fts')]).to.deep.equal(counts);
    });
  });
});
