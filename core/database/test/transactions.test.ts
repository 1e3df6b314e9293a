import { expect } from 'chai';
import { eachDatabase, type TestEngine } from 'mortise/sdk/testing';
import type { Database, Migration, Transaction } from '../../sdk/host/database.js';
import { errorOf } from './expect-error.js';

const migrations: readonly Migration[] = [
  {
    name: '0001-notes',
    async up(schema) {
      await schema.createTable('notes.notes', (table, columns) => {
        columns.id('id');
        table.string('text').notNullable().unique();
      });
    },
  },
];

async function notes(engine: TestEngine): Promise<Database> {
  const database = await engine.open('notes', ['notes']);
  await database.migrate(migrations);
  return database;
}

async function texts(database: Database): Promise<string[]> {
  const { rows } = await database.statement<{ text: string }>('select text from {notes.notes} order by text');
  return rows.map((row) => row.text);
}

const insert = 'insert into {notes.notes} (text) values (?)';

describe('transactions', () => {
  eachDatabase((engine) => {
    it('commit when the function resolves, and return its value', async () => {
      const database = await notes(engine);
      const value = await database.transaction(async (trx) => {
        await database.statement(insert, ['a'], { trx });
        await trx(database.table('notes.notes')).insert({ text: 'b' });
        return 7;
      });
      expect(value).to.equal(7);
      expect(await texts(database)).to.deep.equal(['a', 'b']);
    });

    it('store nothing when the function rejects', async () => {
      const database = await notes(engine);
      const error = await errorOf(
        database.transaction(async (trx) => {
          await database.statement(insert, ['a'], { trx });
          throw new Error('changed my mind');
        }),
      );
      expect(error.message).to.equal('changed my mind');
      expect(await texts(database)).to.deep.equal([]);
    });

    it('run a batch of statements in order, with the result of each', async () => {
      const database = await notes(engine);
      const results = await database.transaction((trx) =>
        database.batch(
          [
            ...['a', 'b', 'c'].map((text) => ({ sql: insert, bindings: [text] })),
            { sql: "update {notes.notes} set text = 'd' where text = ?", bindings: ['a'] },
            { sql: 'select text from {notes.notes} order by text' },
          ],
          { trx },
        ),
      );
      expect(results.map(({ changes }) => changes)).to.deep.equal([1, 1, 1, 1, 3]);
      expect(results[4]?.rows.map(({ text }) => text)).to.deep.equal(['b', 'c', 'd']);
      expect(await texts(database)).to.deep.equal(['b', 'c', 'd']);
    });

    it('roll back the whole batch when one of its statements fails, including later ones', async () => {
      const database = await notes(engine);
      const error = await errorOf(
        database.transaction((trx) =>
          database.batch(
            ['a', 'b', 'a', 'c'].map((text) => ({ sql: insert, bindings: [text] })),
            { trx },
          ),
        ),
      );
      expect(database.codec.errorKind(error)).to.equal('unique');
      expect(await texts(database)).to.deep.equal([]);
      // The connection is still usable.
      await database.transaction((trx) => database.batch([{ sql: insert, bindings: ['e'] }], { trx }));
      expect(await texts(database)).to.deep.equal(['e']);
    });

    it('refuse a batch whose bindings do not fit, and one after their end', async () => {
      const database = await notes(engine);
      const wrong = database.transaction((trx) =>
        database.batch([{ sql: insert, bindings: ['a'] }, { sql: insert }], { trx }),
      );
      expect((await errorOf(wrong)).message).to.match(/binding/i);
      expect(await texts(database)).to.deep.equal([]);
      let over: Transaction | undefined;
      await database.transaction(async (trx) => {
        over = trx;
      });
      const late = database.batch([{ sql: insert, bindings: ['a'] }], { trx: over as Transaction });
      expect(await errorOf(late)).to.include({ code: 'transaction_over' });
    });

    it('are not seen by others before they commit', async () => {
      const database = await notes(engine);
      const other = (await engine.openHost()).forPlugin('notes', ['notes']);
      await database.transaction(async (trx) => {
        await database.statement(insert, ['a'], { trx });
        expect(await texts(other)).to.deep.equal([]);
      });
      expect(await texts(other)).to.deep.equal(['a']);
    });

    it('keep the changes around a failed savepoint', async () => {
      const database = await notes(engine);
      await database.transaction(async (trx) => {
        await database.statement(insert, ['a'], { trx });
        const error = await errorOf(
          database.transaction(
            async (inner) => {
              await database.statement(insert, ['b'], { trx: inner });
              await database.statement(insert, ['a'], { trx: inner });
            },
            { trx },
          ),
        );
        expect(database.codec.errorKind(error)).to.equal('unique');
        await database.transaction((inner) => database.statement(insert, ['c'], { trx: inner }), { trx });
        await database.statement(insert, ['d'], { trx });
      });
      expect(await texts(database)).to.deep.equal(['a', 'c', 'd']);
    });

    it('refuse calls inside that do not use the transaction, in every form', async () => {
      const database = await notes(engine);
      const calls: readonly (() => unknown)[] = [
        () => database.query(),
        () => database.statement('select 1 as one'),
        () => database.transaction(async () => {}),
        () =>
          database.claim({
            table: 'notes.notes',
            key: 'id',
            where: '1 = 1',
            orderBy: [],
            limit: 1,
            set: { text: 'x' },
          }),
        () => database.migrate(migrations),
        () => database.notify('written', 'x'),
      ];
      await database.transaction(async (trx) => {
        for (const call of calls) {
          const error = await errorOf((async () => call())());
          expect(error).to.have.property('code', 'nested_query');
        }
        await database.transaction(
          async () => {
            expect(await errorOf((async () => database.query())())).to.have.property('code', 'nested_query');
          },
          { trx },
        );
        expect(await database.ping(100)).to.equal(engine.dialect === 'postgres');
      });
      expect(await texts(database)).to.deep.equal([]);
      expect(await database.ping()).to.equal(true);
    });

    it('let a call chain that began inside continue independently after the end', async () => {
      const database = await notes(engine);
      let later: Promise<unknown> = Promise.resolve();
      let ended = (): void => {};
      const end = new Promise<void>((resolve) => {
        ended = resolve;
      });
      await database.transaction(async () => {
        later = end.then(() => database.statement(insert, ['later']));
      });
      ended();
      await later;
      expect(await texts(database)).to.deep.equal(['later']);
    });

    it('refuse to be used after their end', async () => {
      const database = await notes(engine);
      const trx = await database.transaction(async (open) => ({ open }));
      for (const call of [
        () => database.statement(insert, ['late'], { trx: trx.open }),
        () => database.transaction(async () => {}, { trx: trx.open }),
        async () => database.afterCommit(trx.open, () => {}),
      ]) {
        expect(await errorOf(call())).to.have.property('code', 'transaction_over');
      }
    });

    it('never report a commit that the database turned into a rollback', async () => {
      const database = await notes(engine);
      const outcome = await database
        .transaction(async (trx) => {
          await database.statement(insert, ['a'], { trx });
          await database.statement(insert, ['a'], { trx }).catch(() => {});
        })
        .then(
          () => 'committed',
          (error: { code: string }) => error.code,
        );
      expect(await texts(database)).to.deep.equal(outcome === 'committed' ? ['a'] : []);
      expect(outcome).to.equal(engine.dialect === 'postgres' ? 'transaction_aborted' : 'committed');
    });

    it('store nothing and release their connection when the commit fails', async () => {
      const database = await engine.open('pairs', ['pairs']);
      await database.migrate([
        {
          name: '0001',
          async up(schema) {
            await schema.createTable('pairs.left', (table) => table.integer('id').primary());
            const references = `references ${schema.table('pairs.left')} (id) deferrable initially deferred`;
            await schema.raw(`create table {pairs.right} (id integer ${references})`);
          },
        },
      ]);
      for (let round = 0; round < 3; round += 1) {
        const error = await errorOf(
          database.transaction((trx) => database.statement('insert into {pairs.right} (id) values (1)', [], { trx })),
        );
        expect(database.codec.errorKind(error)).to.equal('foreign-key');
        expect((await database.statement('select id from {pairs.right}')).rows).to.deep.equal([]);
      }
    });

    it('run hooks after the outermost commit, and none of a part that was rolled back', async () => {
      const database = await notes(engine);
      const ran: string[] = [];
      await database.transaction(async (trx) => {
        database.afterCommit(trx, () => ran.push('outer'));
        await database.transaction(async (inner) => database.afterCommit(inner, () => ran.push('inner')), { trx });
        await errorOf(
          database.transaction(
            async (inner) => {
              database.afterCommit(inner, () => ran.push('never'));
              throw new Error('no');
            },
            { trx },
          ),
        );
        database.afterCommit(trx, () => {
          throw new Error('a hook that fails');
        });
        database.afterCommit(trx, () => ran.push('last'));
        expect(ran).to.deep.equal([]);
      });
      expect(ran).to.deep.equal(['outer', 'inner', 'last']);
      await errorOf(
        database.transaction(async (trx) => {
          database.afterCommit(trx, () => ran.push('never'));
          throw new Error('no');
        }),
      );
      expect(ran).to.have.length(3);
    });

    it('see one state of the whole database in a snapshot, and cannot write there', async () => {
      const database = await notes(engine);
      const other = (await engine.openHost()).forPlugin('notes', ['notes']);
      await database.transaction(
        async (trx) => {
          const count = () => database.statement<{ n: number }>('select count(*) as n from {notes.notes}', [], { trx });
          expect((await count()).rows[0]?.n).to.equal(0);
          await other.statement(insert, ['a']);
          expect((await count()).rows[0]?.n).to.equal(0);
        },
        { readOnlySnapshot: true },
      );
      const refused = await errorOf(
        database.transaction((trx) => database.statement(insert, ['b'], { trx }), { readOnlySnapshot: true }),
      );
      expect(refused.message).to.match(/read-?only/i);
      await database.statement(insert, ['c']);
      expect(await texts(database)).to.deep.equal(['a', 'c']);
    });

    it('lose no update when two processes read and then write the same row', async () => {
      const database = await notes(engine);
      await database.statement(insert, ['0']);
      const hosts = await Promise.all([engine.openHost(), engine.openHost(), engine.openHost()]);
      const add = async (own: Database): Promise<void> => {
        for (let round = 0; round < 20; round += 1) {
          await own.transaction(async (trx) => {
            const lock = own.dialect === 'postgres' ? 'for update' : '';
            const { rows } = await own.statement<{ text: string }>(`select text from {notes.notes} ${lock}`, [], {
              trx,
            });
            await own.statement('update {notes.notes} set text = ?', [String(Number(rows[0]?.text) + 1)], { trx });
          });
        }
      };
      await Promise.all(hosts.map((host) => add(host.forPlugin('notes', ['notes']))));
      expect(await texts(database)).to.deep.equal(['60']);
    });
  });
});
