import { expect } from 'chai';
import { eachDatabase } from 'mortise/sdk/testing';
import type { Database, Transaction } from '../../sdk/host/database.js';
import type { OpeningCall } from '../held-transaction.js';
import type { DatabaseHost } from '../open-database.js';
import type { TransactionWatch } from '../open-transactions.js';
import { errorOf } from './expect-error.js';

const insert = 'insert into {notes.notes} (text) values (?)';

describe('a transaction that its plugin does not end', () => {
  eachDatabase((engine) => {
    let host: DatabaseHost;
    let holder: Database;
    let other: Database;

    async function open(transactions: TransactionWatch): Promise<void> {
      host = await engine.openHost({ transactions });
      other = host.forPlugin('notes', ['notes']);
      holder = host.forPlugin('holder', ['notes']);
      await other.migrate([
        {
          name: '0001-notes',
          up: (schema) =>
            schema.createTable('notes.notes', (table) => {
              table.text('text');
            }),
        },
      ]);
    }

    /** Writes a row and never ends. */
    async function hold(): Promise<{ readonly ended: Promise<Error>; readonly trx: Transaction }> {
      const { promise: begun, resolve } = Promise.withResolvers<Transaction>();
      const ended = errorOf(
        holder.transaction(async (trx) => {
          await holder.statement(insert, ['lost'], { trx });
          resolve(trx);
          return new Promise<never>(() => undefined);
        }),
      );
      return { ended, trx: await begun };
    }

    const texts = async (): Promise<string[]> =>
      (await other.statement<{ text: string }>('select text from {notes.notes}')).rows.map((row) => row.text);

    it('is rolled back when it is idle, and others continue', async () => {
      const stuck: string[] = [];
      await open({ idleLimitMs: 100, onStuck: (plugin, { code }) => stuck.push(`${plugin} ${code}`) });
      const { ended } = await hold();
      await other.statement(insert, ['kept']);
      expect(await ended).to.include({ code: 'transaction_ended' });
      expect(await texts()).to.deep.equal(['kept']);
      expect(stuck).to.deep.equal(['holder transaction_ended']);
    });

    it('is ended with its plugin, and accepts no statement afterwards', async () => {
      await open({});
      const { ended, trx } = await hold();
      host.endTransactions('notes');
      await holder.statement('select 1 as one', [], { trx });
      host.endTransactions('holder');
      expect(await ended).to.include({ code: 'transaction_ended' });
      for (const late of [
        () => holder.statement(insert, ['late'], { trx }),
        async () => await trx(holder.table('notes.notes')).insert({ text: 'late' }),
        () => holder.transaction(async () => undefined, { trx }),
      ]) {
        expect(await errorOf(late())).to.include({ code: 'transaction_ended' });
      }
      expect(await texts()).to.deep.equal([]);
    });

    it('is ended from within a savepoint too', async () => {
      await open({ idleLimitMs: 100 });
      const ended = errorOf(
        holder.transaction(async (outer) => {
          await holder.statement(insert, ['lost'], { trx: outer });
          await holder.transaction(() => new Promise<never>(() => undefined), { trx: outer });
        }),
      );
      expect(await ended).to.include({ code: 'transaction_ended' });
      expect(await texts()).to.deep.equal([]);
    });

    it('is ended once the call that opened it should have stopped', async () => {
      let overdueAt = Number.POSITIVE_INFINITY;
      const call: OpeningCall = {
        get overdueAt() {
          return overdueAt;
        },
      };
      await open({ currentCall: () => call });
      const { ended } = await hold();
      overdueAt = performance.now();
      expect(await ended).to.include({ code: 'transaction_ended' });
    });

    it('is reported as the holder of the database, and is ended early on request', async () => {
      await open({});
      const { ended } = await hold();
      while (host.holder() === undefined) await new Promise((resolve) => setImmediate(resolve));
      expect(host.holder()).to.equal('holder');
      host.hurryTransactions('holder');
      expect(await ended).to.include({ code: 'transaction_ended' });
      expect(host.holder()).to.equal(undefined);
    });

    it('continues while statements run in it, for any time', async () => {
      await open({ idleLimitMs: 60 });
      const until = performance.now() + 400;
      await holder.transaction(async (trx) => {
        while (performance.now() < until) await holder.statement(insert, ['kept'], { trx });
      });
      expect(await texts()).to.include('kept');
    });
  });
});
