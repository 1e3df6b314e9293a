import { existsSync, statSync } from 'node:fs';
import { expect } from 'chai';
import { silentLog, temporaryPath } from 'mortise/sdk/testing';
import type { Database } from '../../sdk/host/database.js';
import { until } from '../../sdk/testing/until.js';
import { type DatabaseHost, openDatabase } from '../open-database.js';

describe('the log of a SQLite file', () => {
  let file: string;
  let host: DatabaseHost;
  let database: Database;

  beforeEach(async () => {
    file = temporaryPath('log.db');
    host = await openDatabase({ dialect: 'sqlite', file }, silentLog);
    database = host.forPlugin('notes', ['notes']);
    await database.migrate([
      { name: '0001', up: (schema) => schema.createTable('notes.notes', (table) => table.text('text')) },
    ]);
  });
  afterEach(() => host.close());

  /** Commits notes of 4 KiB, one at a time. */
  async function commit(count: number): Promise<void> {
    for (let one = 0; one < count; one += 1) {
      await database.transaction((trx) =>
        database.statement('insert into {notes.notes} (text) values (?)', ['n'.repeat(4_096)], { trx }),
      );
    }
  }

  it('is checkpointed during many commits, long before SQLite would do it in a commit', async () => {
    await commit(300);
    await until('the first notes are in the file itself', () => statSync(file).size > 200 * 4_096);
  });

  it('is checkpointed by commits once it is long, if no thread does it', async () => {
    // A statement outside a transaction does not count as a commit.
    for (let one = 0; one < 20; one += 1) {
      await database.statement('insert into {notes.notes} (text) values (?)', ['n'.repeat(1_048_576)]);
    }
    expect(statSync(file).size).to.be.above(16 * 1_048_576);
  });

  it('is closed with the database, so that no thread keeps the file open', async () => {
    await commit(300);
    await host.close();
    expect(existsSync(`${file}-wal`)).to.equal(false);
  });
});
