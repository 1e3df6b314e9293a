import { execFileSync } from 'node:child_process';
import { copyFileSync, readFileSync, renameSync, rmSync, statSync, truncateSync, utimesSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { MemoryHost } from 'mortise/contracts/memory-gateway/testing';
import type { Finding } from 'mortise/sdk';
import { eachDatabase, ownPostgres, testDialects, until } from 'mortise/sdk/testing';
import { type DatabaseHost, openDatabase } from '../../core/database/index.js';
import { silentLog } from '../../core/sdk/testing/silent-log.js';
import { contents, memoryPlugins, startMemory } from './memory-host.js';

const space = 'private:lena';

async function store(memory: MemoryHost, text: string): Promise<unknown> {
  const { body } = await memory.store({ payload_md: text, target_space: space });
  return body.ok === true ? body.action : body.error_code;
}

const found = async (memory: MemoryHost): Promise<readonly unknown[]> =>
  contents(await memory.query({ query: 'apple', spaces: [space] }));

async function ready({ host }: MemoryHost): Promise<string> {
  const response = await host.fetch('/ready');
  const { waiting = [] } = (await response.json()) as { waiting?: readonly { key: string; code: string }[] };
  return [response.status, ...waiting.map(({ key, code }) => `${key} ${code}`)].join(' ');
}

async function findings({ host }: MemoryHost): Promise<readonly Finding[]> {
  const { findings } = (await (await host.fetch('/admin/plugins/doctor')).json()) as { findings: readonly Finding[] };
  return findings;
}

/** Asserts that stores are refused, and that the fault is reported with its fix. */
async function expectDetected(memory: MemoryHost, code: string, fix: RegExp): Promise<void> {
  await until(async () => (await ready(memory)) === `503 database ${code}`);
  const { body } = await memory.store({ payload_md: 'apple lost', target_space: space });
  expect(body).to.include({ ok: false, error_code: 'AUDIT_WRITE_FAILED' });
  expect(body.message).to.match(/written\. The database of the running server was taken away/);
  const all = await findings(memory);
  expect(all.map(({ severity, code }) => `${severity} ${code}`)).to.include(`error ${code}`);
  expect(all.filter((one) => one.code === code)).to.have.length(1);
  expect(all.find((one) => one.code === code)?.fix).to.match(fix);
  expect((await memory.host.fetch('/healthz')).status).to.equal(200);
}

async function expectWorking(memory: MemoryHost, ...expected: readonly string[]): Promise<void> {
  await until(async () => (await ready(memory)) === '200');
  // The plugins may still be starting on another database.
  await until(async () => (await store(memory, 'apple after')) === 'allow');
  expect(await found(memory)).to.have.members([...expected, 'apple after']);
  expect((await findings(memory)).filter(({ severity }) => severity === 'error')).to.deep.equal([]);
}

describe('a SQLite file that is removed under the running server', () => {
  let memory: MemoryHost;
  let file: string;
  beforeEach(async function only() {
    if (!testDialects().includes('sqlite')) return this.skip();
    memory = await startMemory({ env: {} }, { plugins: [...memoryPlugins, 'admin'] });
    file = memory.host.app.database.target;
    expect(await store(memory, 'apple before')).to.equal('allow');
  });
  afterEach(() => memory?.stop());

  it('makes the next answer of /ready 503, without waiting for the periodic check', async () => {
    const elsewhere = join(memory.host.dataDir, 'elsewhere.db');
    for (let round = 0; round < 3; round += 1) {
      renameSync(file, elsewhere);
      expect(await ready(memory)).to.equal('503 database database_file_missing');
      renameSync(elsewhere, file);
      expect(await ready(memory)).to.equal('200');
    }
  });

  it('is missed when it is moved, and used again once it is back', async () => {
    const elsewhere = join(memory.host.dataDir, 'elsewhere.db');
    renameSync(file, elsewhere);
    await expectDetected(memory, 'database_file_missing', /Put it back/);
    renameSync(elsewhere, file);
    await expectWorking(memory, 'apple before');
  });

  it('is complete after it was moved', async () => {
    const elsewhere = join(memory.host.dataDir, 'elsewhere.db');
    renameSync(file, elsewhere);
    await expectDetected(memory, 'database_file_missing', /Put it back/);
    expect(readFileSync(elsewhere).includes('apple before')).to.equal(true);
    expect(statSync(`${file}-wal`, { throwIfNoEntry: false })).to.equal(undefined);
  });

  it('can be copied from the process after it was deleted, and the copy is used without a restart', async function copy() {
    if (process.platform !== 'linux') return this.skip();
    for (const suffix of ['', '-wal', '-shm']) rmSync(`${file}${suffix}`);
    await expectDetected(memory, 'database_file_missing', /cp \/proc/);
    const fix = (await findings(memory))[0]?.fix ?? '';
    const [, from = ''] = /cp (\S+) /.exec(fix) ?? [];
    copyFileSync(from, file);
    await expectWorking(memory, 'apple before');
  });

  it('can be copied from the process when its folder was deleted too', async function folder() {
    if (process.platform !== 'linux') return this.skip();
    const folder = join(memory.host.dataDir, 'data');
    expect(file.startsWith(`${folder}/`)).to.equal(true);
    rmSync(folder, { recursive: true });
    await expectDetected(memory, 'database_file_missing', /mkdir -p \S+ && cp \/proc/);
    const fix = (await findings(memory))[0]?.fix ?? '';
    execFileSync('sh', ['-c', fix.slice(fix.indexOf('mkdir -p'))]);
    await expectWorking(memory, 'apple before');
  });

  it('is not replaced by an empty one', async () => {
    renameSync(file, `${file}.old`);
    await expectDetected(memory, 'database_file_missing', /Put it back/);
    await (await openDatabase({ dialect: 'sqlite', file }, silentLog)).close();
    await expectDetected(memory, 'database_file_replaced', /restart the server/);
    rmSync(file);
    renameSync(`${file}.old`, file);
    await expectWorking(memory, 'apple before');
  });

  /** Runs statements on a connection of another process. */
  async function elsewhere(...statements: readonly string[]): Promise<void> {
    const other = await openDatabase({ dialect: 'sqlite', file }, silentLog);
    try {
      for (const statement of statements) await other.forPlugin('probe', []).statement(statement);
    } finally {
      await other.close();
    }
  }

  it('is missed when it is emptied in place, and a backup that is moved there is used', async () => {
    const backup = join(memory.host.dataDir, 'backup.db');
    await elsewhere(`vacuum into '${backup}'`);
    truncateSync(file);
    await expectDetected(memory, 'database_file_overwritten', /mv backup/);
    renameSync(backup, file);
    await expectWorking(memory, 'apple before');
  });

  it('is replaced by a backup that is copied over it', async () => {
    const backup = join(memory.host.dataDir, 'backup.db');
    await elsewhere(`vacuum into '${backup}'`);
    expect(await store(memory, `apple later ${'and again '.repeat(10_000)}`)).to.equal('allow');
    await elsewhere('pragma wal_checkpoint(truncate)');
    expect(await ready(memory)).to.equal('200');
    copyFileSync(backup, file);
    await until(async () => (await ready(memory)) === '503 database database_file_overwritten');
    await expectWorking(memory, 'apple before');
  });

  it('is replaced by a larger file, which keeps its data', async () => {
    const backup = join(memory.host.dataDir, 'backup.db');
    await elsewhere(`vacuum into '${backup}'`);
    const other = await openDatabase({ dialect: 'sqlite', file: backup }, silentLog);
    for (const statement of ['create table extra (text)', 'insert into extra select hex(randomblob(3000000))'])
      await other.forPlugin('probe', []).statement(statement);
    await other.close();
    for (const text of ['apple later', 'apple after that']) expect(await store(memory, text)).to.equal('allow');
    copyFileSync(backup, file);
    expect(await ready(memory)).to.equal('503 database database_file_overwritten');
    await expectWorking(memory, 'apple before');
    const { rows } = await memory.database.statement<{ integrity_check: string }>('pragma integrity_check');
    expect(rows).to.deep.equal([{ integrity_check: 'ok' }]);
  });

  it('is replaced by an older file of the same size', async () => {
    const backup = join(memory.host.dataDir, 'backup.db');
    await elsewhere('pragma wal_checkpoint(truncate)');
    copyFileSync(file, backup);
    expect(await store(memory, 'apple later')).to.equal('allow');
    await elsewhere('pragma wal_checkpoint(truncate)');
    expect(await ready(memory)).to.equal('200');
    copyFileSync(backup, file);
    expect(await ready(memory)).to.equal('503 database database_file_overwritten');
    await expectWorking(memory, 'apple before');
  });

  it('may be touched, and checkpointed by every process that has it open', async () => {
    for (let round = 0; round < 20; round += 1) {
      expect(await store(memory, `apple ${round} ${'more '.repeat(500)}`)).to.equal('allow');
      if (round % 3 === 0) await elsewhere('pragma wal_checkpoint(passive)');
      if (round % 5 === 0) utimesSync(file, new Date(), new Date());
      expect(await ready(memory)).to.equal('200');
    }
  });

  it('may be vacuumed by another process', async () => {
    expect(await store(memory, `apple later ${'and again '.repeat(10_000)}`)).to.equal('allow');
    await elsewhere('create table junk (text)', `insert into junk select hex(randomblob(500000))`);
    await elsewhere('pragma wal_checkpoint(truncate)');
    expect(await ready(memory)).to.equal('200');
    const { size } = statSync(file);
    await elsewhere('delete from junk where true', 'vacuum', 'pragma wal_checkpoint(truncate)');
    expect(statSync(file).size).to.be.lessThan(size);
    expect(await ready(memory)).to.equal('200');
    expect(await store(memory, 'apple after')).to.equal('allow');
  });

  it('loses nothing when only its log is deleted', async () => {
    rmSync(`${file}-wal`);
    await until(() => statSync(`${file}-wal`, { throwIfNoEntry: false }) !== undefined);
    expect(readFileSync(file).includes('apple before')).to.equal(true);
    await expectWorking(memory, 'apple before');
  });
});

describe('a PostgreSQL database that is recreated under the running server', () => {
  it('is detected, and used again once its tables are restored', async function recreated() {
    if (!testDialects().includes('postgres')) return this.skip();
    const server = await ownPostgres();
    let admin: DatabaseHost | undefined;
    let memory: MemoryHost | undefined;
    try {
      const parts = { host: '127.0.0.1', port: server.port, user: 'postgres', password: '' };
      admin = await openDatabase({ dialect: 'postgres', connection: { ...parts, database: 'postgres' } }, silentLog);
      const { statement } = admin.forPlugin('probe', []);
      const rename = async (from: string, to: string): Promise<void> => {
        await statement(`alter database ${from} allow_connections false`);
        await statement(`select pg_terminate_backend(pid) from pg_stat_activity where datname = '${from}'`);
        await until(() =>
          statement(`alter database ${from} rename to ${to}`).then(
            () => true,
            () => false,
          ),
        );
        await statement(`alter database ${to} allow_connections true`);
      };
      await statement('create database lost_test');
      const url = `postgres://postgres@127.0.0.1:${server.port}/lost_test`;
      memory = await startMemory({ env: { DATABASE_URL: url } }, { plugins: [...memoryPlugins, 'admin'] });
      expect(await store(memory, 'apple before')).to.equal('allow');

      await rename('lost_test', 'kept_test');
      await statement('create database lost_test');
      await expectDetected(memory, 'database_emptied', /Restore it from a backup/);

      await rename('lost_test', 'empty_test');
      await rename('kept_test', 'lost_test');
      await expectWorking(memory, 'apple before');
    } finally {
      await memory?.stop();
      await admin?.close();
      await server.dispose();
    }
  });
});

describe('a table that is dropped under the running server', () => {
  eachDatabase((engine) => {
    let memory: MemoryHost;
    let dataDir: string;
    const start = (): Promise<MemoryHost> => startMemory(engine, { plugins: [...memoryPlugins, 'admin'], dataDir });
    /** Runs a statement as the administrator of the database would. */
    const run = (sql: string): Promise<unknown> => memory.host.app.database.forPlugin('probe', []).statement(sql);
    beforeEach(async () => {
      dataDir = await mkdtemp(join(tmpdir(), 'mortise-test-'));
      memory = await start();
    });
    afterEach(async () => {
      await memory.stop();
      await rm(dataDir, { recursive: true, force: true });
    });

    it('makes the server not ready, also after a restart, until it is restored', async () => {
      const schema = engine.dialect === 'sqlite' ? 'logbook_' : 'logbook.';
      const bare = engine.dialect === 'sqlite' ? 'logbook_' : '';
      const notReady = '503 database database_tables_missing';
      expect(await store(memory, 'apple before')).to.equal('allow');
      await run(`alter table ${schema}memories rename to ${bare}away`);
      expect(await ready(memory)).to.equal(notReady);
      const finding = (await findings(memory)).find(({ code }) => code === 'database_tables_missing');
      expect(finding?.message).to.include(`: ${schema}memories. Whatever needs them fails.`);

      await memory.stop();
      memory = await start();
      expect(await ready(memory)).to.equal(notReady);

      await run(`alter table ${schema}away rename to ${bare}memories`);
      await expectWorking(memory, 'apple before');
    });

    it('is no longer expected once an administrator deletes its record', async () => {
      const [name, records] =
        engine.dialect === 'sqlite' ? ['logbook_memories', 'mortise_tables'] : ['logbook.memories', 'mortise.tables'];
      await run(`drop table ${name}${engine.dialect === 'sqlite' ? '' : ' cascade'}`);
      const [fix = ''] = (await findings(memory))
        .filter(({ code }) => code === 'database_tables_missing')
        .map((one) => one.fix);
      expect(fix).to.include(`delete from ${records} where name = '${name}'`);
      await run(/delete from .*/.exec(fix)?.[0] ?? '');
      expect(await ready(memory)).to.equal('200');
    });
  });
});
