import { expect } from 'chai';
import { eachDatabase, type TestEngine } from 'mortise/sdk/testing';
import type { ClaimRows, Database } from '../../sdk/host/database.js';
import { errorOf } from './expect-error.js';

interface JobRow {
  readonly job_id: number;
  readonly due: number;
  readonly owner: string;
  readonly tries: number;
}

async function jobs(engine: TestEngine, count: number): Promise<Database> {
  const database = await engine.open('jobs', ['jobs']);
  await database.migrate([
    {
      name: '0001',
      up: (schema) =>
        schema.createTable('jobs.jobs', (table, columns) => {
          columns.id('job_id');
          table.integer('due').notNullable();
          table.string('owner');
          table.integer('tries').notNullable().defaultTo(0);
        }),
    },
  ]);
  await database.transaction(async (trx) => {
    for (let due = count; due > 0; due -= 1) {
      await database.statement('insert into {jobs.jobs} (due) values (?)', [due], { trx });
    }
  });
  return database;
}

const claimOf = (owner: string, limit: number): ClaimRows => ({
  table: 'jobs.jobs',
  key: 'job_id',
  where: 'owner is null and due < ?',
  bindings: [1_000],
  orderBy: ['due'],
  limit,
  set: { owner, tries: { sql: 'tries + ?', bindings: [1] }, due: { sql: '-due' } },
});

describe('claiming rows', () => {
  eachDatabase((engine) => {
    it('returns the changed rows, in order, up to the limit', async () => {
      const database = await jobs(engine, 9);
      const first = await database.claim<JobRow>(claimOf('me', 4));
      expect(first.map((row) => row.due)).to.deep.equal([-1, -2, -3, -4]);
      expect(first.map((row) => [row.owner, row.tries])).to.deep.equal(Array(4).fill(['me', 1]));
      expect(Object.keys(first[0] ?? {}).sort()).to.deep.equal(['due', 'job_id', 'owner', 'tries']);
      expect((await database.claim<JobRow>(claimOf('me', 99))).map((row) => row.due)).to.deep.equal([
        -5, -6, -7, -8, -9,
      ]);
      expect(await database.claim(claimOf('me', 1))).to.deep.equal([]);
    });

    it('gives each row to one of eight concurrent claimers', async () => {
      const database = await jobs(engine, 400);
      const hosts = await Promise.all(Array.from({ length: 4 }, () => engine.openHost()));
      const claimers = Array.from({ length: 8 }, async (_, index) => {
        const own = hosts[index % 4]?.forPlugin('jobs', ['jobs']) ?? database;
        const got: number[] = [];
        for (;;) {
          const rows = await own.claim<JobRow>(claimOf(`worker ${index}`, 7));
          if (rows.length === 0) return got;
          got.push(...rows.map((row) => row.job_id));
        }
      });
      const got = (await Promise.all(claimers)).flat();
      expect(got).to.have.length(400);
      expect(new Set(got).size).to.equal(400);
      const { rows } = await database.statement('select job_id from {jobs.jobs} where tries <> 1 or owner is null');
      expect(rows).to.deep.equal([]);
    });

    it('belongs to its transaction', async () => {
      const database = await jobs(engine, 3);
      await errorOf(
        database.transaction(async (trx) => {
          expect(await database.claim(claimOf('me', 2), { trx })).to.have.length(2);
          throw new Error('undo');
        }),
      );
      expect(await database.claim(claimOf('me', 9))).to.have.length(3);
    });

    // SQLite locks the whole database instead of rows.
    const itOnPostgres = engine.dialect === 'postgres' ? it : () => {};
    itOnPostgres('skips rows that another transaction has locked', async () => {
      const database = await jobs(engine, 5);
      await database.transaction(async (trx) => {
        await database.claim(claimOf('first', 2), { trx });
        const other = (await engine.openHost()).forPlugin('jobs', ['jobs']);
        expect((await other.claim<JobRow>(claimOf('second', 9))).map((row) => row.due)).to.deep.equal([-3, -4, -5]);
      });
    });

    it('refuses invalid names', async () => {
      const database = await jobs(engine, 1);
      for (const bad of [{ key: 'a b' }, { orderBy: ['due; drop'] }, { set: { 'a = 1 --': 1 } }, { limit: 0 }]) {
        await errorOf(database.claim({ ...claimOf('me', 1), ...bad }));
      }
      expect(await database.claim({ ...claimOf('me', 1), orderBy: ['due desc'] })).to.have.length(1);
    });
  });
});
