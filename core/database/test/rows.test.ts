import { expect } from 'chai';
import { eachDatabase, type TestEngine } from 'mortise/sdk/testing';
import type { Database } from '../../sdk/host/database.js';
import { errorOf } from './expect-error.js';

interface ThingRow {
  readonly id: number;
  readonly at: string | null;
  readonly made: string;
  readonly facts: string;
  readonly big: number | null;
  readonly flag: unknown;
  readonly text: string | null;
}

async function things(engine: TestEngine): Promise<Database> {
  const database = await engine.open('things', ['things']);
  await database.migrate([
    {
      name: '0001',
      up: (schema) =>
        schema.createTable('things.things', (table, columns) => {
          columns.id('id');
          columns.time('at');
          columns.time('made', { defaultNow: true });
          columns.json('facts', '{}');
          columns.millis('big');
          columns.flag('flag', false);
          table.text('text');
        }),
    },
  ]);
  return database;
}

async function only(database: Database): Promise<ThingRow> {
  const { rows } = await database.statement<ThingRow>('select * from {things.things}');
  expect(rows).to.have.length(1);
  return rows[0] as ThingRow;
}

describe('stored rows', () => {
  eachDatabase((engine) => {
    it('are the same by statement and by query builder', async () => {
      const database = await things(engine);
      const at = '2026-02-28T23:59:59.007Z';
      await database
        .query()(database.table('things.things'))
        .insert({
          at: database.codec.time(new Date(at)),
          facts: database.codec.json({ list: [1, 'two', null] }),
          big: 1_800_000_000_123,
          flag: true,
          text: 'hello',
        });
      const built = (await database.query()(database.table('things.things')).first()) as ThingRow;
      const stated = await only(database);
      expect(built).to.deep.equal(stated);
      expect(stated).to.include({ at, big: 1_800_000_000_123, text: 'hello', id: 1 });
      expect(database.codec.parseTime(stated.at)).to.equal(at);
      expect(stated.facts).to.be.a('string');
      expect(database.codec.parseJson(stated.facts)).to.deep.equal({ list: [1, 'two', null] });
      expect(database.codec.parseFlag(stated.flag)).to.equal(true);
    });

    it('have counts and sums as numbers', async () => {
      const database = await things(engine);
      for (const big of [1, 2]) await database.statement('insert into {things.things} (big) values (?)', [big]);
      const { rows } = await database.statement(
        'select count(*) as n, sum(big) as total, max(big) as top from {things.things}',
      );
      expect(rows).to.deep.equal([{ n: 2, total: 3, top: 2 }]);
      const [{ n }] = (await database.query()(database.table('things.things')).count({ n: '*' })) as [{ n: number }];
      expect(n).to.equal(2);
    });

    it('store dates and booleans that are bound directly', async () => {
      const database = await things(engine);
      const at = new Date('2026-07-01T00:00:00.500Z');
      await database.statement('insert into {things.things} (at, flag) values (?, ?)', [at, true]);
      await database.query()(database.table('things.things')).update({ made: at });
      const row = await only(database);
      expect([row.at, row.made]).to.deep.equal([at.toISOString(), at.toISOString()]);
      expect(database.codec.parseFlag(row.flag)).to.equal(true);
    });

    it('have defaults, with a time of the database clock that is never in its future', async () => {
      const database = await things(engine);
      for (let round = 0; round < 20; round += 1) {
        await database.statement('insert into {things.things} (big) values (?)', [round]);
        const { rows } = await database.statement(
          `select id from {things.things} where big = ? and made <= ${database.now.time}`,
          [round],
        );
        expect(rows).to.have.length(1);
      }
      const { rows } = await database.statement<ThingRow & { now: number }>(
        `select *, ${database.now.millis} as now from {things.things} where big = 0`,
      );
      const row = rows[0];
      expect(row?.made).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
      expect(database.codec.parseJson(row?.facts)).to.deep.equal({});
      expect(row?.at).to.equal(null);
      expect(row?.now).to.be.closeTo(Date.parse(row?.made ?? ''), 10_000);
      expect(Number.isInteger(row?.now)).to.equal(true);
    });

    it('accept text and JSON that one of the dialects would refuse', async () => {
      const database = await things(engine);
      await database.statement('insert into {things.things} (text, facts) values (?, ?)', [
        'a\0b',
        database.codec.json({ text: 'a\0b\ud800c \\u0000 \u{1f600}' }),
      ]);
      const row = await only(database);
      expect(row.text).to.equal('a\uFFFDb');
      expect(database.codec.parseJson(row.facts)).to.deep.equal({ text: 'a\uFFFDb\uFFFDc \\u0000 \u{1f600}' });
    });

    it('are counted when a statement changes them', async () => {
      const database = await things(engine);
      const insert = await database.statement('insert into {things.things} (big) values (?), (?), (?)', [1, 2, 3]);
      expect(insert).to.deep.equal({ rows: [], changes: 3 });
      expect((await database.statement('update {things.things} set big = 9 where big > ?', [1])).changes).to.equal(2);
      const returned = await database.statement('delete from {things.things} where big = ? returning big', [9]);
      expect(returned).to.deep.equal({ rows: [{ big: 9 }, { big: 9 }], changes: 2 });
      expect((await database.statement('delete from {things.things} where big = ?', [77])).changes).to.equal(0);
    });

    it('need as many bindings as question marks', async () => {
      const database = await things(engine);
      const { rows } = await database.statement(`select '\\?' as mark, cast(? as text) as bound`, ['?']);
      expect(rows).to.deep.equal([{ mark: '?', bound: '?' }]);
      expect(await errorOf(database.statement('select ? as a', []))).to.include({ code: 'statement_bindings' });
      expect(await errorOf(database.statement('select 1 as a', [1]))).to.include({ code: 'statement_bindings' });
    });

    it('of a table altered by another process are still read by cached statements', async () => {
      const database = await engine.open('grown', ['grown']);
      await database.migrate([
        { name: '0001', up: (schema) => schema.createTable('grown.rows', (t) => t.integer('a')) },
      ]);
      await database.statement('insert into {grown.rows} (a) values (1)');
      const all = () => database.statement('select * from {grown.rows}');
      expect((await all()).rows).to.deep.equal([{ a: 1 }]);
      const other = (await engine.openHost()).forPlugin('grown', ['grown']);
      await other.migrate([
        { name: '0001', up: async () => {} },
        { name: '0002', up: (schema) => schema.alterTable('grown.rows', (t) => t.integer('b').defaultTo(2)) },
      ]);
      expect((await all()).rows).to.deep.equal([{ a: 1, b: 2 }]);
    });

    it('never appear in errors', async () => {
      const database = await things(engine);
      await database.statement('insert into {things.things} (id, text) values (?, ?)', [5, 'secret words']);
      for (const clash of [
        database.statement('insert into {things.things} (id, text) values (?, ?)', [5, 'secret words']),
        database.query()(database.table('things.things')).insert({ id: 5, text: 'secret words' }),
      ]) {
        const error = await errorOf(clash);
        expect(database.codec.errorKind(error)).to.equal('unique');
        expect(error.message + JSON.stringify({ ...error })).not.to.include('secret words');
        expect(JSON.stringify({ ...error })).not.to.include('(5)');
      }
    });

    it('stay within the schemas of their plugin', async () => {
      const database = await things(engine);
      expect(() => database.table('other.rows')).to.throw('which is in none of its schemas');
      expect(() => database.table('things')).to.throw('which is in none of its schemas');
      expect(await errorOf(database.statement('select * from {mortise.leases}'))).to.include({
        code: 'schema_not_declared',
      });
      const host = await engine.openHost();
      for (const name of ['mortise', 'public', 'pg_x', 'Up', 'a-b']) {
        expect(() => host.forPlugin('things', [name])).to.throw('cannot be used by plugin things');
      }
    });
  });
});
