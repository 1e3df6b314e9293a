import { expect } from 'chai';
import { eachDatabase, temporaryFolder, until } from 'mortise/sdk/testing';
import { contents, startMemory } from './memory-host.js';

describe('an index made by a different text analysis', () => {
  eachDatabase(
    (engine) => {
      it('is rebuilt after a start, and finds everything again', async function rebuilt() {
        this.timeout(120_000);
        const dataDir = temporaryFolder('reindex');
        const first = await startMemory(engine, { dataDir });
        try {
          for (let n = 0; n < 250; n += 1) {
            await first.store({ payload_md: `walrus number ${n}`, target_space: `private:${n % 2}` });
          }
          await first.database.statement(`update {logbook.memory_documents} set analysis = 'old', postings = ?`, [
            new Uint8Array(0),
          ]);
          const lost = await first.query({ query: 'walrus 249', spaces: ['private:1'] });
          expect(contents(lost)).to.deep.equal([]);
        } finally {
          await first.stop();
        }

        // Stopped immediately: its progress depends on the machine, but an interrupted reindex is not an error.
        const cut = await startMemory(engine, { dataDir });
        await cut.stop();
        expect(cut.host.logs.filter((line) => line.includes('could not be indexed'))).to.deep.equal([]);

        const second = await startMemory(engine, { dataDir });
        try {
          const old = async () => {
            const { rows } = await second.database.statement<{ n: number }>(
              `select count(*) as n from {logbook.memory_documents} where analysis = 'old'`,
            );
            return rows[0]?.n;
          };
          await until('every memory is indexed again', async () => (await old()) === 0, 60_000);
          const found = await second.query({ query: 'walrus 249', spaces: ['private:1'], top_k: 100 });
          expect(contents(found)[0]).to.equal('walrus number 249');
          expect(contents(found)).to.have.length(100);
          expect(contents(found)).not.to.include('walrus number 248');
        } finally {
          await second.stop();
        }
      });
    },
    { keepRows: true },
  );
});
