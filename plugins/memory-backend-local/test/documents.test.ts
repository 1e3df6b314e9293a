import { expect } from 'chai';
import type { Database } from 'mortise/sdk';
import { eachDatabase, type TestEngine } from 'mortise/sdk/testing';
import { createDocuments } from '../search/documents.js';
import { type IndexHost, startIndexHost } from './index-host.js';

describe('the documents of the index', () => {
  eachDatabase((engine: TestEngine) => {
    let host: IndexHost;
    let database: Database;

    beforeEach(async () => {
      host = await startIndexHost(engine);
      database = host.database;
    });
    afterEach(() => host.stop());

    const store = async (id: string, analysis: string): Promise<number> => {
      const { rows } = await database.statement<{ seq: number }>(
        `insert into {logbook.memory_documents} (memory_id, space, length, postings, analysis)
         values (?, '_s_1', 1, ?, ?) returning seq`,
        [id, new Uint8Array(100), analysis],
      );
      return rows[0]?.seq ?? 0;
    };
    /** Changes a document in the database, which a reader that cached it does not see. */
    const lengthen = (seq: number, analysis: string) =>
      database.statement('update {logbook.memory_documents} set length = 2, analysis = ? where seq = ?', [
        analysis,
        seq,
      ]);

    it('are read from the cache and the database, skipping missing ones', async () => {
      const read = createDocuments(database, '1');
      const [a, b] = [await store('a', '1'), await store('b', '1')];
      expect(await read([a])).to.have.length(1);
      const both = [...(await read([b, a, 999]))].sort((one, other) => one.seq - other.seq);
      expect(both.map(({ seq, memoryId, spaceTerm, length }) => [seq, memoryId, spaceTerm, length])).to.deep.equal([
        [a, 'a', '_s_1', 1],
        [b, 'b', '_s_1', 1],
      ]);
      expect([...(both[0]?.postings ?? [])]).to.deep.equal([...new Uint8Array(100)]);
      expect(await read([])).to.deep.equal([]);
    });

    it('are not cached until they are indexed again', async () => {
      const read = createDocuments(database, '2');
      const seq = await store('a', '1');
      expect((await read([seq]))[0]?.length).to.equal(1);
      await lengthen(seq, '2');
      expect((await read([seq]))[0]?.length).to.equal(2);
    });

    it('are cached while they are used, and dropped when others take their place', async () => {
      const seqs: number[] = [];
      for (let index = 0; index < 20; index += 1) seqs.push(await store(`m${index}`, '1'));
      const [used = 0, dropped = 0, ...others] = seqs;
      const read = createDocuments(database, '1', 4_000);
      await read([used, dropped]);
      for (const seq of [used, dropped]) await lengthen(seq, '1');
      for (const other of others) {
        await read([other]);
        expect((await read([used]))[0]?.length).to.equal(1);
      }
      expect((await read([dropped]))[0]?.length).to.equal(2);
    });
  });
});
