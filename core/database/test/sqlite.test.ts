import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { silentLog, temporaryPath } from 'mortise/sdk/testing';
import type { Database } from '../../sdk/host/database.js';
import { until } from '../../sdk/testing/until.js';
import { type DatabaseHost, openDatabase } from '../open-database.js';
import { exitCode, startChild } from './child.js';
import { errorOf } from './expect-error.js';

describe('the SQLite file', () => {
  const hosts: DatabaseHost[] = [];
  afterEach(() => Promise.all(hosts.splice(0).map((host) => host.close())));

  const file = (): string => join(temporaryPath('folder'), 'deep', 'mortise_test.db');

  async function open(path: string, busyTimeoutMs = 5_000): Promise<DatabaseHost> {
    const host = await openDatabase({ dialect: 'sqlite', file: path, busyTimeoutMs }, silentLog, { retryMs: 100 });
    hosts.push(host);
    return host;
  }

  async function notes(path: string, busyTimeoutMs?: number): Promise<Database> {
    const database = (await open(path, busyTimeoutMs)).forPlugin('notes', ['notes']);
    const up = (schema: {
      createTable: (name: string, build: (t: { text(name: string): unknown }) => void) => Promise<void>;
    }) =>
      schema.createTable('notes.notes', (table) => {
        table.text('text');
      });
    await database.migrate([{ name: '0001', up }]);
    return database;
  }

  it('is created with its folder, readable only by its owner', async () => {
    const path = file();
    await open(path);
    expect(statSync(path).mode & 0o777).to.equal(0o600);
    expect(statSync(join(path, '..')).mode & 0o777).to.equal(0o700);
    expect(statSync(`${path}-wal`).mode & 0o777).to.equal(0o600);
  });

  it('commits durably, in WAL, with foreign keys', async () => {
    const database = (await open(file())).forPlugin('notes', []);
    const pragma = async (name: string) => Object.values((await database.statement(`pragma ${name}`)).rows[0] ?? {})[0];
    expect(await pragma('journal_mode')).to.equal('wal');
    expect(await pragma('synchronous')).to.equal(2);
    expect(await pragma('foreign_keys')).to.equal(1);
    expect(await pragma('temp_store')).to.equal(2);
  });

  it('is refused with its name and not changed when it is not a database', async () => {
    const path = file();
    mkdirSync(join(path, '..'), { recursive: true });
    writeFileSync(path, 'These are the shopping lists of a whole year.'.repeat(50));
    const error = await errorOf(open(path));
    expect(error).to.include({ code: 'database_unusable' });
    expect(error.message).to.include(path);
    expect(readFileSync(path, 'utf8')).to.include('shopping lists');
  });

  it('is refused where it cannot be created', async () => {
    const path = file();
    mkdirSync(join(path, '..', '..'), { recursive: true });
    writeFileSync(join(path, '..'), 'a file, not a folder');
    expect(await errorOf(open(path))).to.include({ code: 'database_unusable' });
  });

  it('waits for a writing process without blocking the event loop', async () => {
    const path = file();
    const database = await notes(path);
    const settings = { dialect: 'sqlite', file: path };
    const child = startChild('./holding-process.js', { settings });
    const ended = exitCode(child);
    await new Promise((resolve) => child.once('message', resolve));
    let turns = 0;
    const clock = setInterval(() => {
      turns += 1;
    }, 10);
    let waiting = true;
    const written = database.statement(`insert into {notes.notes} (text) values ('waited')`).finally(() => {
      waiting = false;
    });
    await until('the event loop has run', () => turns > 20);
    clearInterval(clock);
    expect(waiting).to.equal(true);
    child.send('release');
    await written;
    expect(await ended).to.equal(0);
    const { rows } = await database.statement('select text from {notes.notes} order by rowid');
    expect(rows).to.deep.equal([{ text: 'held' }, { text: 'waited' }]);
  });

  it('stops waiting at its limit, with a retryable error', async () => {
    const path = file();
    const database = await notes(path, 150);
    const child = startChild('./holding-process.js', { settings: { dialect: 'sqlite', file: path } });
    const ended = exitCode(child);
    await new Promise((resolve) => child.once('message', resolve));
    const write = database.statement(`insert into {notes.notes} (text) values ('impatient')`);
    expect(database.codec.errorKind(await errorOf(write))).to.equal('busy');
    const begun = database.transaction(async () => 'never');
    expect(database.codec.errorKind(await errorOf(begun))).to.equal('busy');
    expect((await database.statement('select text from {notes.notes}')).rows).to.deep.equal([]);
    child.send('release');
    expect(await ended).to.equal(0);
  });

  it('reports that it is read-only although it still answers', async () => {
    const database = await notes(file());
    expect(await database.canWrite()).to.equal(true);
    await database.statement('pragma query_only = on');
    expect([await database.ping(), await database.canWrite()]).to.deep.equal([true, false]);
    await database.statement('pragma query_only = off');
    expect(await database.canWrite()).to.equal(true);
  });

  it('reports that it is full, from a statement and from a transaction', async () => {
    let reported = 0;
    const settings = { dialect: 'sqlite', file: file(), busyTimeoutMs: 100 } as const;
    const host = await openDatabase(settings, silentLog, { onFull: () => (reported += 1) });
    hosts.push(host);
    const database = host.forPlugin('notes', ['notes']);
    await database.migrate([{ name: '0001', up: (schema) => schema.raw('create table {notes.notes} (text text)') }]);
    await errorOf(database.statement('insert into {notes.notes} (nothing) values (1)'));
    expect(reported).to.equal(0);
    await database.statement('pragma max_page_count = 1');
    const insert = 'insert into {notes.notes} (text) values (?)';
    await errorOf(database.statement(insert, ['x'.repeat(1_000_000)]));
    expect(reported).to.equal(1);
    const inside = database.transaction((trx) => database.statement(insert, ['x'.repeat(1_000_000)], { trx }));
    expect(database.codec.errorKind(await errorOf(inside))).to.equal('full');
    expect(reported).to.equal(2);
    // A few bytes still fit, but do not show that a larger write would.
    await database.statement('delete from {notes.notes} where text is null');
    expect([await database.ping(), await database.canWrite()]).to.deep.equal([true, false]);
  });

  it('reports soon that it has space again, and keeps no trace of the check', async () => {
    let regained = 0;
    const settings = { dialect: 'sqlite', file: file(), busyTimeoutMs: 100 } as const;
    const host = await openDatabase(settings, silentLog, { onSpace: () => (regained += 1), spaceTrialMs: 20 });
    hosts.push(host);
    const database = host.forPlugin('notes', ['notes']);
    await database.migrate([{ name: '0001', up: (schema) => schema.raw('create table {notes.notes} (text text)') }]);
    const { rows } = await database.statement<{ page_count: number }>('pragma page_count');
    const limitPages = (more: number) =>
      database.statement(`pragma max_page_count = ${(rows[0]?.page_count ?? 0) + more}`);
    await limitPages(4);
    const insert = 'insert into {notes.notes} (text) values (?)';
    await errorOf(database.statement(insert, ['x'.repeat(1_000_000)]));
    await database.statement(insert, ['small']);
    expect(await database.canWrite()).to.equal(false);
    await limitPages(10_000);
    await until('there is space again', () => database.canWrite());
    expect(regained).to.equal(1);
    await until('nothing is left', async () => {
      const found = await database.statement(`select name from sqlite_master where name like '%space%'`);
      return found.rows.length === 0;
    });
  });

  it('rolls back the whole transaction when it is full, never a part of it', async () => {
    const database = await notes(file());
    const pages = await database.statement<{ page_count: number }>('pragma page_count');
    await database.statement(`pragma max_page_count = ${(pages.rows[0]?.page_count ?? 0) + 4}`);
    const insert = (text: string, trx?: Parameters<Parameters<Database['transaction']>[0]>[0]) =>
      database.statement('insert into {notes.notes} (text) values (?)', [text], { trx });
    const full = await errorOf(
      database.transaction(async (trx) => {
        await insert('small', trx);
        await insert('x'.repeat(1_000_000), trx);
      }),
    );
    expect(database.codec.errorKind(full)).to.equal('full');
    const swallowed = await errorOf(
      database
        .transaction(async (trx) => {
          await insert('before', trx);
          await insert('x'.repeat(1_000_000), trx).catch(() => {});
          await insert('after', trx);
        })
        .then((value) => {
          throw new Error(`committed ${String(value)}`);
        }),
    );
    const { rows } = await database.statement<{ text: string }>('select text from {notes.notes}');
    const kept = rows.map((row) => row.text);
    expect(kept).to.deep.equal(swallowed.message.startsWith('committed') ? ['before', 'after'] : []);
    await insert('there is room for this');
  });

  it('yields to the event loop during a long loop of queries', async () => {
    const database = await notes(file());
    let turns = 0;
    let counting = true;
    const count = (): void => {
      turns += 1;
      if (counting) setImmediate(count);
    };
    setImmediate(count);
    // As many queries as it takes: a fast machine inserts thousands of rows before the first turn is due.
    const deadline = performance.now() + 10_000;
    await database.transaction(async (trx) => {
      while (turns < 3 && performance.now() < deadline) {
        await database.statement('insert into {notes.notes} (text) values (?)', ['bulk'], { trx });
      }
    });
    counting = false;
    expect(turns).to.be.at.least(3);
  });
});
