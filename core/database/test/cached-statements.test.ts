import { expect } from 'chai';
import { execute, type SqliteConnection } from '../sqlite-connection.js';

describe('cached statements', () => {
  it('are not evicted by the numbered savepoints of knex', () => {
    const prepared: string[] = [];
    const connection: SqliteConnection = {
      open: true,
      inTransaction: true,
      prepare(sql) {
        prepared.push(sql);
        return { reader: false, all: () => [], run: () => ({ changes: 0, lastInsertRowid: 0 }) };
      },
      pragma: () => undefined,
      exec: () => undefined,
      transaction: (run) => ({ immediate: run }),
      close: () => undefined,
    };
    const often = 'update notes set text = 1';
    execute(connection, often, []);
    for (let number = 0; number < 600; number += 1) {
      execute(connection, `SAVEPOINT trx${number};`, []);
      execute(connection, number % 2 ? `RELEASE SAVEPOINT trx${number};` : `ROLLBACK TO SAVEPOINT trx${number}`, []);
    }
    execute(connection, often, []);
    expect(prepared.filter((sql) => sql === often)).to.have.length(1);
  });
});
