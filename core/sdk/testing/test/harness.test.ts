import { type ChildProcess, fork, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { openDatabase } from '../../../database/open-database.js';
import type { DatabaseSettings, PostgresAddress, PostgresSettings } from '../../../database/settings.js';
import type { Database } from '../../host/database.js';
import { assertTestDatabase, controlConnection } from '../control-connection.js';
import { findPostgres, noPostgres } from '../postgres-binaries.js';
import { silentLog } from '../silent-log.js';
import { ownPostgres, temporaryPath, testDialects, testServerAddress } from '../test-database.js';
import { until } from '../until.js';

interface Answer {
  readonly settings?: DatabaseSettings;
  readonly leaked?: readonly string[];
  readonly error?: string;
}

const running: ChildProcess[] = [];

function use(dialect: string, env: Readonly<Record<string, string>> = {}): ChildProcess {
  const script = fileURLToPath(new URL('./using-process.js', import.meta.url));
  const child = fork(script, [dialect], { env: { PATH: process.env.PATH, TMPDIR: tmpdir(), ...env } });
  running.push(child);
  return child;
}

function answerOf(child: ChildProcess): Promise<Answer> {
  return new Promise((resolve) => child.once('message', (message) => resolve(message as Answer)));
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}

const describeOnPostgres = testDialects().includes('postgres') ? describe : () => {};

describe('the test harness', () => {
  afterEach(() => {
    for (const child of running.splice(0)) child.kill('SIGKILL');
  });

  describe('guards destructive statements', () => {
    const onPostgres = (name: string): Pick<Database, 'dialect' | 'statement'> => ({
      dialect: 'postgres',
      statement: async <Row>() => ({ rows: [{ name }] as Row[], changes: 1 }),
    });
    const onSqlite = (file: string): Pick<Database, 'dialect' | 'statement'> => ({
      dialect: 'sqlite',
      statement: async <Row>() => ({ rows: [{ name: 'main', file }] as Row[], changes: 1 }),
    });
    const refusal = (name: string): string =>
      `Refusing to run tests against database '${name}': name must contain '_test' at its end to prevent accidental ` +
      'data loss. Set TEST_DATABASE_NAME to a test-specific database.';
    const outcome = (connection: Pick<Database, 'dialect' | 'statement'>): Promise<string> =>
      assertTestDatabase(connection).then(
        () => 'accepted',
        (error: Error) => error.message,
      );

    for (const name of ['mortise_test', 'mortise_test_3', 'MORTISE_TEST', 'MORTISE_TEST12', '_test']) {
      it(`accepts ${name}`, async () => {
        expect(await outcome(onPostgres(name))).to.equal('accepted');
        expect(await outcome(onSqlite(`/srv/${name}.db`))).to.equal('accepted');
      });
    }

    for (const name of [
      'production',
      'mortise',
      'mortise_test_x',
      'mortise_testing',
      'a_testing_prod',
      'mytest',
      'test',
      '',
    ]) {
      it(`refuses "${name}"`, async () => {
        expect(await outcome(onPostgres(name))).to.equal(refusal(name));
        if (name !== '') expect(await outcome(onSqlite(`/srv/${name}.db`))).to.equal(refusal(name));
      });
    }

    it('accepts files in its folders and databases in memory', async () => {
      expect(await outcome(onSqlite(join(temporaryPath('own'), 'any.db')))).to.equal('accepted');
      expect(await outcome(onSqlite(''))).to.equal('accepted');
    });

    it('refuses to empty a file that is not for tests, and keeps its rows', async () => {
      const folder = mkdtempSync(join(tmpdir(), 'somebody-'));
      const settings = { dialect: 'sqlite', file: join(folder, 'mortise.db') } as const;
      try {
        const host = await openDatabase(settings, silentLog);
        const database = host.forPlugin('own', ['own']);
        await database.migrate([{ name: '1', up: (schema) => schema.createTable('own.rows', (t) => t.text('text')) }]);
        await database.statement(`insert into {own.rows} (text) values ('precious')`);
        const message = await controlConnection(settings).then(
          () => 'opened',
          (error: Error) => error.message,
        );
        expect(message).to.equal(refusal('mortise'));
        const control = await controlConnection(settings, { guarded: false });
        const emptied = await control.empty().then(
          () => 'emptied',
          (error: Error) => error.message,
        );
        expect(emptied).to.equal(refusal('mortise'));
        expect((await database.statement('select text from {own.rows}')).rows).to.have.length(1);
        await control.close();
        await host.close();
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    });
  });

  describe('chooses', () => {
    it('the configured dialects, and both by default', () => {
      expect(testDialects({})).to.deep.equal(['sqlite', 'postgres']);
      expect(testDialects({ TEST_DATABASE_ENGINES: ' postgres ' })).to.deep.equal(['postgres']);
      expect(() => testDialects({ TEST_DATABASE_ENGINES: 'sqlite,mysql' })).to.throw('TEST_DATABASE_ENGINES');
    });

    it('programs in the configured folder, or reports that there are none', () => {
      expect(() => findPostgres({ TEST_POSTGRES_BIN: tmpdir() })).to.throw('TEST_POSTGRES_BIN');
      for (const way of ['TEST_DATABASE_HOST', 'TEST_POSTGRES_BIN', 'npm ci', 'install PostgreSQL']) {
        expect(noPostgres).to.include(way);
      }
    });

    it("no database of the developer's environment", async () => {
      const child = use('sqlite', {
        DATABASE_URL: 'postgres://prod/main',
        DATABASE_HOST: 'prod',
        DATABASE_SCHEMA: 'x',
        POSTGRES_DSN: 'postgres://prod/main',
      });
      const { leaked, settings } = await answerOf(child);
      expect(leaked).to.deep.equal([]);
      expect(settings?.dialect).to.equal('sqlite');
    });
  });

  describe('cleans up', () => {
    it('the folder of a run that exits by itself or by a signal', async () => {
      for (const end of ['message', 'SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
        const child = use('sqlite');
        const { settings } = await answerOf(child);
        const file = settings?.dialect === 'sqlite' ? settings.file : '';
        expect(existsSync(dirname(file))).to.equal(true);
        if (end === 'message') child.send('end');
        else child.kill(end);
        await until(() => !existsSync(dirname(dirname(file))));
      }
    });

    it('the folders of dead runs at the next start, and no others', async () => {
      const base = mkdtempSync(join(tmpdir(), 'base-'));
      const gone = spawnSync(process.execPath, ['-e', '']).pid;
      const folders = { dead: gone, alive: process.pid };
      for (const [name, owner] of Object.entries(folders)) {
        mkdirSync(join(base, `mortise-run-${name}`, 'sqlite-1'), { recursive: true });
        writeFileSync(join(base, `mortise-run-${name}`, 'owner'), String(owner));
      }
      mkdirSync(join(base, 'mortise-run-young'));
      mkdirSync(join(base, 'something-else'));
      try {
        spawnSync('chmod', ['755', base]);
        await answerOf(use('sqlite', { TMPDIR: base }));
        const left = ['dead', 'alive', 'young'].filter((name) => existsSync(join(base, `mortise-run-${name}`)));
        expect(left).to.deep.equal(['alive', 'young']);
        expect(existsSync(join(base, 'something-else'))).to.equal(true);
      } finally {
        rmSync(base, { recursive: true, force: true });
      }
    });
  });

  describeOnPostgres('starts a PostgreSQL server', () => {
    const partsOf = ({ settings }: Answer): PostgresAddress =>
      (settings as PostgresSettings & { readonly connection: PostgresAddress }).connection;

    it('that is removed with the run, even when the run is killed', async () => {
      for (const signal of ['SIGKILL', 'SIGINT', 'SIGTERM'] as const) {
        const base = mkdtempSync(join(tmpdir(), 'base-'));
        spawnSync('chmod', ['755', base]);
        const child = use('postgres', { TMPDIR: base });
        const { port, database } = partsOf(await answerOf(child));
        expect(database).to.match(/^mortise_test_\d+$/);
        expect(await answers(port)).to.equal(true);
        child.kill(signal);
        await until(async () => !(await answers(port)));
        await until(() => spawnSync('ls', [base]).stdout.length === 0);
        rmSync(base, { recursive: true });
      }
    });

    it("regardless of the server in the developer's environment", async () => {
      const { settings, leaked } = await answerOf(
        use('postgres', {
          DATABASE_HOST: 'database.invalid',
          DATABASE_NAME: 'production',
          POSTGRES_DSN: 'postgres://x',
        }),
      );
      expect(leaked).to.deep.equal([]);
      expect(partsOf({ settings })).to.deep.include({ host: '127.0.0.1', user: 'postgres' });
      expect(partsOf({ settings }).database).to.match(/^mortise_test_\d+$/);
    });

    it('and empties only test databases on it', async () => {
      const server = await ownPostgres();
      const connection = { ...(await testServerAddress(server.port)), database: 'postgres' };
      const settings = { dialect: 'postgres', connection } as const;
      const host = await openDatabase(settings, silentLog);
      try {
        const database = host.forPlugin('own', ['own']);
        await database.migrate([{ name: '1', up: (schema) => schema.createTable('own.rows', (t) => t.text('text')) }]);
        await database.statement(`insert into {own.rows} (text) values ('precious')`);
        const control = await controlConnection(settings, { guarded: false });
        const emptied = await control.empty().then(
          () => 'emptied',
          (error: Error) => error.message,
        );
        await control.close();
        expect(emptied).to.include("Refusing to run tests against database 'postgres'");
        expect((await database.statement('select text from {own.rows}')).rows).to.have.length(1);
      } finally {
        await host.close();
        await server.dispose();
      }
    });

    it('for each of several concurrent runs', async () => {
      const both = await Promise.all([answerOf(use('postgres')), answerOf(use('postgres'))]);
      const ports = both.map((answer) => partsOf(answer).port);
      expect(new Set(ports).size).to.equal(2);
    });

    it('or uses the configured one, unless its database is not one for tests', async () => {
      const server = await ownPostgres();
      const parts = await testServerAddress(server.port);
      const env = {
        TEST_DATABASE_HOST: parts.host,
        TEST_DATABASE_PORT: String(parts.port),
        TEST_DATABASE_USER: parts.user,
      };
      const reported = partsOf(await answerOf(use('postgres', env)));
      expect(reported)
        .to.include({ port: parts.port })
        .and.to.have.property('database')
        .that.matches(/^mortise_test_\d+$/);
      const refused = await answerOf(use('postgres', { ...env, TEST_DATABASE_NAME: 'postgres' }));
      expect(refused.error).to.include("Refusing to run tests against database 'postgres'");
      await server.dispose();
    });

    it('whose configured database may have a number, and drops the databases that it created', async () => {
      const server = await ownPostgres();
      const connection = await testServerAddress(server.port);
      const first = await controlConnection({ dialect: 'postgres', connection });
      await first.createNamedDatabase('a_test_12');
      await first.close();
      const settings = { dialect: 'postgres', connection: { ...connection, database: 'a_test_12' } } as const;
      const control = await controlConnection(settings);
      const created = await control.createDatabase('a_test_12');
      expect(created)
        .to.match(/^a_test_\d+$/)
        .and.not.to.equal('a_test_12');
      const emptied = await controlConnection({ ...settings, connection: { ...connection, database: created } });
      await emptied.empty();
      await emptied.close();
      await control.dropDatabase(created);
      await control.close();
      const host = await openDatabase(settings, silentLog);
      const { rows } = await host
        .forPlugin('look', [])
        .statement<{ name: string }>(`select datname as name from pg_database where datname like 'a_test%'`);
      expect(rows.map(({ name }) => name)).to.deep.equal(['a_test_12']);
      await host.close();
      await server.dispose();
    });

    it('on which the next run drops databases of killed runs', async () => {
      const server = await ownPostgres();
      const parts = await testServerAddress(server.port);
      const env = {
        TEST_DATABASE_HOST: parts.host,
        TEST_DATABASE_PORT: String(parts.port),
        TEST_DATABASE_USER: parts.user,
      };
      const child = use('postgres', env);
      const left = partsOf(await answerOf(child)).database;
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGKILL');
      await ended;
      const next = partsOf(await answerOf(use('postgres', env))).database;
      const host = await openDatabase({ dialect: 'postgres', connection: parts }, silentLog);
      const { rows } = await host
        .forPlugin('look', [])
        .statement<{ name: string }>(`select datname as name from pg_database where datname like 'mortise_test_%'`);
      expect(rows.map((row) => row.name))
        .to.deep.equal([next])
        .and.not.to.include(left);
      await host.close();
      await server.dispose();
    });
  });
});
