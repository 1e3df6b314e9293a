import { silentLog } from '../../sdk/testing/silent-log.js';
import { openDatabase } from '../open-database.js';
import type { DatabaseSettings } from '../settings.js';
import { childFacts } from './child.js';

/** Commits rows, two per transaction, and reports each commit once it is done. */
const { settings } = childFacts<{ settings: DatabaseSettings }>();

const host = await openDatabase(settings, silentLog);
const database = host.forPlugin('ledger', ['ledger']);
await database.migrate([
  {
    name: '0001',
    up: (schema) =>
      schema.createTable('ledger.rows', (table) => {
        table.integer('n').primary();
      }),
  },
]);
for (let n = 0; ; n += 2) {
  await database.transaction(async (trx) => {
    await database.statement('insert into {ledger.rows} (n) values (?)', [n], { trx });
    await database.statement('insert into {ledger.rows} (n) values (?)', [n + 1], { trx });
  });
  process.send?.(n + 1);
}
