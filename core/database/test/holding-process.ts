import { silentLog } from '../../sdk/testing/silent-log.js';
import { openDatabase } from '../open-database.js';
import type { DatabaseSettings } from '../settings.js';
import { childFacts } from './child.js';

/** Holds the write lock of the database for a while. */
const { settings, forMs } = childFacts<{ settings: DatabaseSettings; forMs: number }>();

const host = await openDatabase(settings, silentLog);
const database = host.forPlugin('notes', ['notes']);
await database.transaction(async (trx) => {
  await database.statement(`insert into {notes.notes} (text) values ('held')`, [], { trx });
  process.send?.('holding');
  await new Promise((resolve) => setTimeout(resolve, forMs));
});
await host.close();
process.disconnect();
