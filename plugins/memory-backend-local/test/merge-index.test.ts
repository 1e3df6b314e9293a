import { expect } from 'chai';
import type { Database } from 'mortise/sdk';
import { eachDatabase, silentLog, type TestEngine } from 'mortise/sdk/testing';
import type { SearchEngine } from '../engine/search-engine.js';
import { createEngine } from '../search/term-index.js';
import { createIndexMerger } from '../store/merge-index.js';
import { type IndexHost, startIndexHost } from './index-host.js';

describe('merging the index of memories', () => {
  eachDatabase((testEngine: TestEngine) => {
    let host: IndexHost;
    let database: Database;
    let engine: SearchEngine;

    beforeEach(async () => {
      host = await startIndexHost(testEngine);
      database = host.database;
      engine = createEngine(database);
    });
    afterEach(() => host.stop());

    const addOne = (seq: number) =>
      database.transaction((trx) => engine.add([{ seq, spaceTerm: '_s_1', terms: ['all', `only${seq}`] }], { trx }));

    const found = async () => {
      const terms = ['all', 'only7', 'none'].map((term) => ({ term, after: 0 }));
      return engine.matching(terms, 1_000);
    };

    it('reduces the segments step by step, with the same matches', async () => {
      for (let seq = 1; seq <= 30; seq += 1) await addOne(seq);
      await database.transaction((trx) => engine.remove(9, { trx }));
      const before = await found();
      const inOrder = Array.from({ length: 30 }, (_, index) => index + 1).filter((seq) => seq !== 9);
      expect(before).to.deep.equal([inOrder, [7], []]);
      const segments = async () => {
        const { rows } = await database.statement('select distinct segid from {logbook.memory_fts}_idx');
        return rows.length;
      };
      if (database.dialect === 'sqlite') expect(await segments()).to.be.greaterThan(5);
      for (let step = 0; step < 100 && (await engine.merge()); step += 1);
      expect(await engine.merge()).to.equal(false);
      if (database.dialect === 'sqlite') expect(await segments()).to.be.at.most(3);
      expect(await found()).to.deep.equal(before);
    });

    describe('in periodic runs', () => {
      let remaining: number;
      let isBroken: boolean;
      let run: () => Promise<void>;

      beforeEach(() => {
        remaining = 3;
        isBroken = false;
        const countdown: SearchEngine = {
          ...engine,
          async merge() {
            remaining -= 1;
            if (isBroken) throw new Error('disk full');
            return remaining > 0;
          },
        };
        const merger = createIndexMerger({ database, engine: countdown, log: silentLog });
        run = () => merger(new AbortController().signal);
      });

      const store = (id: string) =>
        database.statement(
          `insert into {logbook.memory_documents} (memory_id, space, length, postings, analysis) values (?, 's', 0, ?, '1')`,
          [id, new Uint8Array()],
        );

      it('pauses while memories are stored', async () => {
        for (const id of ['a', 'b', 'c']) {
          await store(id);
          await run();
        }
        expect(remaining).to.equal(3);
        await run();
        expect(remaining).to.equal(0);
      });

      it('stops when it is done, until something is stored', async () => {
        for (let times = 0; times < 5; times += 1) await run();
        expect(remaining).to.equal(0);
        remaining = 2;
        await store('d');
        await run();
        expect(remaining).to.equal(2);
        await run();
        expect(remaining).to.equal(0);
      });

      it('logs one warning when the database does not answer', async () => {
        const lines: unknown[] = [];
        const log = { ...silentLog, warn: (fields: unknown) => void lines.push(fields) };
        const refuse = () => Promise.reject(new Error('the database is unavailable'));
        const merger = createIndexMerger({ database: { ...database, statement: refuse }, engine, log });
        for (let times = 0; times < 3; times += 1) await merger(new AbortController().signal);
        expect(lines).to.have.length(1);
      });

      it('is not retried until something is stored', async () => {
        isBroken = true;
        for (let times = 0; times < 5; times += 1) await run();
        expect(remaining).to.equal(2);
      });
    });
  });
});
