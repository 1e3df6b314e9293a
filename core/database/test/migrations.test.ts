import { expect } from 'chai';
import { eachDatabase } from 'mortise/sdk/testing';
import type { Migration } from '../../sdk/host/database.js';
import { exitCode, startChild } from './child.js';
import { errorOf } from './expect-error.js';

const table = (name: string, bare: string): Migration => ({
  name,
  up: (schema) => schema.createTable(`zoo.${bare}`, (columns) => columns.string('text')),
});

describe('migrations', () => {
  eachDatabase((engine) => {
    it('of processes that start together on an empty database are applied once', async () => {
      const children = Array.from({ length: 3 }, () =>
        startChild('./migrating-process.js', { settings: engine.settings }),
      );
      const ended = children.map(exitCode);
      await Promise.all(children.map((child) => new Promise((resolve) => child.once('message', resolve))));
      for (const child of children) child.send('go');
      expect(await Promise.all(ended)).to.deep.equal([0, 0, 0]);
      const database = await engine.open('race', ['race']);
      const { rows } = await database.statement<{ n: number }>(
        `select (select count(*) from {race.one}) + (select count(*) from {race.two}) + (select count(*) from {race.three}) as n`,
      );
      expect(rows[0]?.n).to.equal(3);
    });

    it('are applied in order, without those applied before', async () => {
      const database = await engine.open('order', ['zoo']);
      const ran: string[] = [];
      const step = (name: string): Migration => ({ name, up: async () => void ran.push(name) });
      await database.migrate([step('0001'), step('0002')]);
      await database.migrate([step('0001'), step('0002'), step('0003')]);
      await database.migrate([step('0001'), step('0002'), step('0003')]);
      expect(ran).to.deep.equal(['0001', '0002', '0003']);
    });

    it('are rolled back when they fail, with the reason', async () => {
      const database = await engine.open('failing', ['zoo']);
      const broken: Migration = {
        name: '0002-broken',
        async up(schema) {
          await table('', 'second').up(schema);
          await schema.raw('insert into {zoo.nowhere} (text) values (1)');
        },
      };
      const error = await errorOf(database.migrate([table('0001-first', 'first'), broken]));
      expect(error).to.include({ code: 'migration_failed' });
      expect(error.message).to.match(/0002-broken of plugin failing failed and was rolled back: .*nowhere/);
      for (const bare of ['first', 'second']) {
        const missing = await errorOf(database.statement(`select 1 as one from {zoo.${bare}}`));
        expect(missing.message).to.match(/no such table|does not exist/);
      }
      await database.migrate([table('0001-first', 'first'), table('0002-broken', 'second')]);
      await database.statement('select 1 as one from {zoo.second}');
    });

    it('account for the tables that they drop, and for those made before tables were recorded', async () => {
      const host = await engine.openHost();
      const missing = async (): Promise<readonly string[]> => {
        await host.storage.check();
        return host.storage.missingTables;
      };
      const database = host.forPlugin('leaving', ['zoo']);
      const records = `mortise${engine.dialect === 'sqlite' ? '_' : '.'}tables`;
      const first = [table('0001-kept', 'kept'), table('0002-left', 'left_behind')];
      await database.migrate(first);
      await database.statement(`delete from ${records} where plugin = 'leaving'`);
      await database.migrate(first);
      await database.migrate([...first, { name: '0003', up: (schema) => schema.raw('drop table {zoo.left_behind}') }]);
      expect(await missing()).to.deep.equal([]);
      await database.statement('drop table {zoo.kept}');
      expect(await missing()).to.deep.equal([database.table('zoo.kept')]);
    });

    it('recorded by a later version are recognised and ignored', async () => {
      const database = await engine.open('newer', ['zoo']);
      await database.migrate([table('0001-a', 'a'), table('0002-b', 'b')]);
      const error = await errorOf(database.migrate([table('0001-a', 'a')]));
      expect(error).to.include({ code: 'schema_newer' });
      expect(error.message).to.include('0002-b');
    });

    it('must be a strictly ascending list', async () => {
      const database = await engine.open('shuffled', ['zoo']);
      for (const names of [
        ['0002', '0001'],
        ['0001', '0001'],
      ]) {
        const error = await errorOf(database.migrate(names.map((name) => table(name, 'never'))));
        expect(error).to.include({ code: 'migration_invalid' });
      }
    });

    it('are recorded per plugin', async () => {
      const one = await engine.open('one', ['farm']);
      const two = await engine.open('two', ['lake']);
      await one.migrate([{ name: '0001', up: (schema) => schema.createTable('farm.cows', (t) => t.string('text')) }]);
      await two.migrate([{ name: '0001', up: (schema) => schema.createTable('lake.fish', (t) => t.string('text')) }]);
      await two.statement('select text from {lake.fish}');
    });

    it('create working foreign keys, unique keys, indexes and added columns', async () => {
      const database = await engine.open('keys', ['keys']);
      await database.migrate([
        {
          name: '0001',
          async up(schema) {
            await schema.createTable('keys.owners', (t) => t.string('name').primary());
            await schema.createTable('keys.pets', (t, columns) => {
              columns.id('id');
              t.string('owner')
                .notNullable()
                .references('name')
                .inTable(schema.table('keys.owners'))
                .onDelete('CASCADE');
              t.string('name').notNullable();
              t.unique(['owner', 'name']);
              t.index(['name']);
            });
            await schema.raw(`create index keys_pets_tame on {keys.pets} (name) where name <> 'what?'`);
          },
        },
        {
          name: '0002',
          up: (schema) =>
            schema.alterTable('keys.pets', (_, columns) => {
              columns.flag('tame', true);
            }),
        },
      ]);
      const pet = 'insert into {keys.pets} (owner, name) values (?, ?) returning id, tame';
      const kindOf = async (...names: string[]) =>
        database.codec.errorKind(await errorOf(database.statement(pet, names)));
      expect(await kindOf('ann', 'rex')).to.equal('foreign-key');
      await database.statement('insert into {keys.owners} (name) values (?)', ['ann']);
      const { rows } = await database.statement<{ id: number; tame: unknown }>(pet, ['ann', 'rex']);
      expect(rows[0]?.id).to.be.a('number');
      expect(database.codec.parseFlag(rows[0]?.tame)).to.equal(true);
      expect(await kindOf('ann', 'rex')).to.equal('unique');
      await database.statement('delete from {keys.owners} where name = ?', ['ann']);
      expect((await database.statement('select id from {keys.pets}')).rows).to.deep.equal([]);
    });
  });
});
