import { once } from 'node:events';
import { silentLog } from '../../sdk/testing/silent-log.js';
import { openDatabase } from '../open-database.js';
import type { DatabaseSettings } from '../settings.js';
import { childFacts } from './child.js';

/** Holds the write lock of the database until it gets a message. */
const { settings } = childFacts<{ settings: DatabaseSettings }>();

const host = await openDatabase(settings, silentLog);
const database = host.forPlugin('notes', ['notes']);
await database.transaction(async (trx) => {
  await database.statement(`insert into {notes.notes} (text) values ('held')`, [], { trx });
  const released = once(process, 'message');
  process.send?.('holding');
  await released;
});
await host.close();
process.disconnect();
