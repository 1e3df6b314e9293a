import { expect } from 'chai';
import type { Knex } from 'knex';
import { silentLog, temporaryPath } from 'mortise/sdk/testing';
import type { Database } from '../../sdk/host/database.js';
import { type DatabaseHost, openDatabase } from '../open-database.js';
import { errorOf } from './expect-error.js';

const insert = 'insert into {notes.notes} (text) values (?)';

describe('turns on the single connection of SQLite', () => {
  let host: DatabaseHost;
  let database: Database;

  beforeEach(async () => {
    host = await openDatabase({ dialect: 'sqlite', file: temporaryPath('turns.db') }, silentLog);
    database = host.forPlugin('notes', ['notes']);
    await database.migrate([
      { name: '0001', up: (schema) => schema.createTable('notes.notes', (table) => table.text('text').unique()) },
    ]);
  });
  afterEach(() => host.close());

  const texts = async (): Promise<string[]> =>
    (await database.statement<{ text: string }>('select text from {notes.notes} order by rowid')).rows.map(
      (row) => row.text,
    );

  const add = (text: string) => (trx: Knex.Transaction) => database.statement(insert, [text], { trx });

  it('are granted in the order of the requests, for every kind of call', async () => {
    const { promise: mayEnd, resolve: end } = Promise.withResolvers<void>();
    const table = database.table('notes.notes');
    const first = database.transaction(async (trx) => {
      await add('first')(trx);
      await mayEnd;
    });
    const others = [
      database.statement(insert, ['statement']),
      database.transaction(add('transaction')),
      database.query()(table).insert({ text: 'builder' }).then(),
      database.transaction(add('another')),
      database.statement(insert, ['another statement']),
      // It requests the connection a moment after the call.
      database.query().transaction((trx) => trx(table).insert({ text: 'transaction of the builder' })),
    ];
    await new Promise((resolve) => setImmediate(resolve));
    expect(host.pool()).to.deep.equal({ used: 1, free: 0, pending: 6 });
    end();
    await Promise.all([first, ...others]);
    const order = ['first', 'statement', 'transaction', 'builder', 'another', 'another statement'];
    expect(await texts()).to.deep.equal([...order, 'transaction of the builder']);
    expect(host.pool()).to.deep.equal({ used: 0, free: 1, pending: 0 });
  });

  it('also end when their work fails', async () => {
    const table = database.table('notes.notes');
    await database.statement(insert, ['taken']);
    for (const clash of [
      () => database.statement(insert, ['taken']),
      () => database.statement('this is no statement'),
      () => database.transaction(add('taken')),
      () => database.query()(table).insert({ text: 'taken' }),
      () => database.query().transaction((trx) => trx(table).insert({ text: 'taken' })),
      () => database.transaction(() => Promise.reject(new Error('no'))),
      () =>
        database.transaction(() => {
          throw new Error('no');
        }),
    ]) {
      await errorOf((async () => clash())());
      expect(host.pool()).to.deep.equal({ used: 0, free: 1, pending: 0 });
    }
    expect(await texts()).to.deep.equal(['taken']);
  });

  it('continue when a connection ends work that its user forgot to end', async () => {
    await errorOf(database.transaction((trx) => database.statement('rollback', [], { trx })));
    await database.transaction(add('kept'));
    expect(await texts()).to.deep.equal(['kept']);
  });

  describe('with the query builder in a transaction', () => {
    it('take part in it through every method', async () => {
      const table = database.table('notes.notes');
      const value = await database.transaction(async (trx) => {
        expect([trx.isTransaction, trx.isCompleted()]).to.deep.equal([true, false]);
        await trx(table).insert({ text: 'called' });
        await trx.insert({ text: 'method' }).into(table);
        await trx.raw('insert into ?? (text) values (?)', [table, 'raw']);
        await database.query({ trx })(table).insert({ text: 'query' });
        await trx.transaction(async (inner) => inner(table).insert({ text: 'savepoint' }));
        await errorOf(trx.savepoint((inner) => inner(table).insert({ text: 'raw' })));
        await trx.batchInsert(table, [{ text: 'batch' }]);
        return trx.select('text').from(table).pluck('text');
      });
      expect(value).to.deep.equal(['called', 'method', 'raw', 'query', 'savepoint', 'batch']);
      expect(await texts()).to.deep.equal(value);
    });

    it('have sequential savepoints, even if they are opened concurrently', async () => {
      await database.transaction(async (trx) => {
        const opened = ['a', 'b', 'a', 'c'].map((text) =>
          database.transaction((inner) => add(text)(inner), { trx }).catch(() => undefined),
        );
        await Promise.all(opened);
      });
      expect(await texts()).to.deep.equal(['a', 'b', 'c']);
    });

    it('end with it', async () => {
      const table = database.table('notes.notes');
      const { open } = await database.transaction(async (trx) => ({ open: trx }));
      expect(open.isCompleted()).to.equal(true);
      expect(await errorOf(open(table).insert({ text: 'late' }).then())).to.include({ code: 'transaction_over' });
      expect(await errorOf(open.transaction(async () => undefined))).to.be.instanceOf(Error);
      expect(await texts()).to.deep.equal([]);
    });

    it('can end it before its function does', async () => {
      const table = database.table('notes.notes');
      const kept = await database.transaction(async (trx) => {
        await trx(table).insert({ text: 'kept' });
        await trx.commit('committed');
        expect(trx.isCompleted()).to.equal(true);
        expect(await errorOf(add('late')(trx))).to.include({ code: 'transaction_over' });
        throw new Error('too late to matter');
      });
      expect(kept).to.equal('committed');
      const undone = await errorOf(
        database.transaction(async (trx) => {
          await trx(table).insert({ text: 'lost' });
          await trx.rollback(new Error('changed my mind'));
        }),
      );
      expect(undone.message).to.equal('changed my mind');
      let ended: Promise<unknown> | undefined;
      const quietly: unknown = await database.transaction(async (trx) => {
        await add('lost')(trx);
        ended = trx.executionPromise;
        await trx.rollback();
        expect(await errorOf(trx.commit().then())).to.include({ code: 'transaction_over' });
        return 'discarded';
      });
      expect(ended).to.be.instanceOf(Promise);
      expect([quietly, await ended]).to.deep.equal([undefined, undefined]);
      expect(await texts()).to.deep.equal(['kept']);
    });
  });
});
