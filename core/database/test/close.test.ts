import { expect } from 'chai';
import { eachDatabase } from 'mortise/sdk/testing';
import { until } from '../../sdk/testing/until.js';
import { errorOf } from './expect-error.js';

describe('closing', () => {
  eachDatabase((engine) => {
    it('waits for the open transaction and refuses later statements', async () => {
      const host = await engine.openHost();
      const database = host.forPlugin('end', ['ending']);
      await database.migrate([
        { name: '0001', up: (schema) => schema.createTable('ending.rows', (t) => t.text('text')) },
      ]);
      let finish = (): void => {};
      const hold = new Promise<void>((resolve) => {
        finish = resolve;
      });
      const work = database.transaction(async (trx) => {
        await database.statement(`insert into {ending.rows} (text) values ('last')`, [], { trx });
        await hold;
        await database.statement(`insert into {ending.rows} (text) values ('words')`, [], { trx });
      });
      await until('the transaction is open', () => host.pool().used === 1);
      const closed = host.close();
      finish();
      await work;
      await closed;
      await host.close();
      expect(await errorOf(database.statement('select 1 as one'))).to.include({ code: 'database_closed' });
      expect(await errorOf(database.transaction(async () => {}))).to.include({ code: 'database_closed' });
      const after = await engine.open('end', ['ending']);
      expect((await after.statement('select text from {ending.rows}')).rows).to.have.length(2);
    });

    it('reports the use of the pool before it', async () => {
      const host = await engine.openHost();
      const database = host.forPlugin('any', []);
      await database.transaction(async () => {
        expect(host.pool()).to.include({ used: 1, pending: 0 });
      });
      expect(host.pool().used).to.equal(0);
      expect(host.pool().free).to.be.at.least(1);
    });
  });
});
