import { expect } from 'chai';
import type { Database } from 'mortise/sdk';
import { eachDatabase, type TestEngine, temporaryFolder } from 'mortise/sdk/testing';
import { createCorpus, type ReadCorpus } from '../search/corpus.js';
import { createTermIndex, type TermIndex } from '../search/term-index.js';
import { startIndexHost } from './index-host.js';

/** The index as seen by one process. */
interface Reader {
  readonly database: Database;
  readonly index: TermIndex;
  readonly corpus: ReadCorpus;
  stop(): Promise<void>;
}

async function startReader(testEngine: TestEngine, dataDir: string): Promise<Reader> {
  const { database, stop } = await startIndexHost(testEngine, dataDir);
  const index = createTermIndex(database);
  return { database, index, corpus: createCorpus(database, index.clear), stop };
}

describe('the term index and the corpus', () => {
  eachDatabase((testEngine: TestEngine) => {
    let folder: string;
    let one: Reader;
    let other: Reader;

    beforeEach(async () => {
      folder = temporaryFolder('index');
      one = await startReader(testEngine, folder);
      other = await startReader(testEngine, folder);
    });
    afterEach(async () => {
      await one.stop();
      await other.stop();
    });

    const store = ({ database, index }: Reader, id: string, terms: readonly string[], spaceTerm = '_s_1') =>
      database.transaction(async (trx) => {
        const { rows } = await database.statement<{ seq: number }>(
          `insert into {logbook.memory_documents} (memory_id, space, length, postings, analysis)
           values (?, ?, ?, ?, '1') returning seq`,
          [id, spaceTerm, terms.length, new Uint8Array()],
          { trx },
        );
        const seq = rows[0]?.seq ?? 0;
        await index.engine.add([{ seq, spaceTerm, terms }], { trx });
        return seq;
      });
    const remove = ({ database, index }: Reader, seq: number) =>
      database.transaction(async (trx) => {
        await database.statement('delete from {logbook.memory_documents} where seq = ?', [seq], { trx });
        await index.engine.remove(seq, { trx });
      });
    const find = async ({ index, corpus }: Reader, term: string) => [
      ...((await index.lookUp([term], await corpus())).get(term)?.all ?? []),
    ];

    it('include every memory, whichever process stored it', async () => {
      const seqs: number[] = [];
      for (const [n, reader] of [one, other, one, one, other].entries()) {
        seqs.push(await store(reader, `m${n}`, ['term', `only${n}`]));
        expect(await find(one, 'term')).to.deep.equal(seqs);
        expect(await find(other, 'term')).to.deep.equal(seqs);
      }
      expect(await find(one, 'only3')).to.deep.equal([seqs[3]]);
    });

    it('exclude every removed memory, whichever process removed it', async () => {
      const seqs = [await store(one, 'a', ['term']), await store(one, 'b', ['term']), await store(one, 'c', ['term'])];
      for (const reader of [one, other]) expect(await find(reader, 'term')).to.deep.equal(seqs);
      await remove(one, seqs[0] ?? 0);
      for (const reader of [one, other]) expect(await find(reader, 'term')).to.deep.equal(seqs.slice(1));
      await remove(other, seqs[1] ?? 0);
      for (const reader of [one, other]) expect(await find(reader, 'term')).to.deep.equal(seqs.slice(2));
    });

    it('use replaced terms', async () => {
      const seq = await store(one, 'a', ['before']);
      expect(await find(one, 'before')).to.deep.equal([seq]);
      const row = { seq, spaceTerm: '_s_1', terms: ['after'] };
      await one.database.transaction((trx) => one.index.engine.replace(row, { trx }));
      expect([await find(one, 'before'), await find(one, 'after')]).to.deep.equal([[], [seq]]);
    });

    it('are unchanged when a transaction that removes a memory is rolled back', async () => {
      const seq = await store(one, 'a', ['term']);
      expect(await find(one, 'term')).to.deep.equal([seq]);
      const failing = one.database.transaction(async (trx) => {
        await one.index.engine.remove(seq, { trx });
        throw new Error('no');
      });
      expect(await failing.catch((error: Error) => error.message)).to.equal('no');
      expect(await find(one, 'term')).to.deep.equal([seq]);
    });

    it('count memories, their length and those of each space, also with concurrent reads', async () => {
      for (const [n, space] of ['_s_1', '_s_2', '_s_1'].entries()) await store(one, `m${n}`, ['x', 'y'], space);
      const [corpus] = await Promise.all(Array.from({ length: 8 }, () => one.corpus()));
      expect([corpus?.documents, corpus?.averageLength]).to.deep.equal([3, 2]);
      expect(corpus?.spaces(['_s_1', '_s_3']).documents).to.equal(2);
      const last = await store(other, 'last', ['x', 'y', 'z', 'x', 'y', 'z'], '_s_3');
      const grown = await one.corpus();
      expect([grown.documents, grown.averageLength, grown.last]).to.deep.equal([4, 3, last]);
      expect(grown.spaces(['_s_3'])).to.deep.equal({ numbers: new Set([grown.spaceNumbers[last]]), documents: 1 });
      expect(grown.lengths[last]).to.equal(6);
    });
  });
});
