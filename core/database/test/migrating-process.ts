import { silentLog } from '../../sdk/testing/silent-log.js';
import { openDatabase } from '../open-database.js';
import type { DatabaseSettings } from '../settings.js';
import { childFacts } from './child.js';

/** Opens an empty database and migrates it on request, concurrently with other processes. */
const { settings } = childFacts<{ settings: DatabaseSettings }>();

process.once('message', async () => {
  const host = await openDatabase(settings, silentLog);
  const database = host.forPlugin('race', ['race']);
  await database.migrate(
    ['0001-one', '0002-two', '0003-three'].map((name) => ({
      name,
      async up(schema) {
        await schema.createTable(`race.${name.slice(5)}`, (table, columns) => {
          columns.id('id');
          table.string('text');
        });
        await schema.raw(`insert into {race.${name.slice(5)}} (text) values ('once')`);
      },
    })),
  );
  await host.close();
  process.exit(0);
});
process.send?.('ready');
