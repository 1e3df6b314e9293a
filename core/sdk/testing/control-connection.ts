import { randomInt } from 'node:crypto';
import { hostname } from 'node:os';
import { basename, extname } from 'node:path';
import { postgresEngine } from '../../database/postgres.js';
import type { DatabaseSettings } from '../../database/settings.js';
import { sqliteEngine } from '../../database/sqlite.js';
import { Session } from '../../database/transaction.js';
import type { Database, Dialect, SqlValue, StatementResult } from '../host/database.js';
import { isRunFile, isRunning } from './run-folder.js';
import { silentLog } from './silent-log.js';

/** The only place where tests create, empty and drop databases. Checks the current database before each such statement. */
export interface ControlConnection {
  readonly dialect: Dialect;
  createDatabase(base: string): Promise<string>;
  createNamedDatabase(name: string): Promise<void>;
  dropDatabase(name: string): Promise<void>;
  empty(): Promise<void>;
  close(): Promise<void>;
}

export async function controlConnection(
  settings: DatabaseSettings,
  { guarded = true }: { readonly guarded?: boolean } = {},
): Promise<ControlConnection> {
  const engine =
    settings.dialect === 'sqlite'
      ? sqliteEngine(settings, silentLog)
      : postgresEngine({ ...settings, poolMax: 1, connectTimeoutMs: 10_000 }, silentLog);
  const session = new Session(engine, silentLog);
  const statement = <Row extends object>(
    sql: string,
    bindings: readonly SqlValue[] = [],
  ): Promise<StatementResult<Row>> => session.statement<Row>(sql, bindings, undefined);
  const destroy = async (sql: string): Promise<void> => {
    await assertTestDatabase({ dialect: engine.dialect, statement });
    await engine.knex.raw(sql);
  };
  const names = async (sql: string): Promise<string[]> =>
    (await statement<{ name: string }>(sql)).rows.map((row) => row.name);

  const control: ControlConnection = {
    dialect: engine.dialect,
    async createDatabase(configured) {
      // A number at its end is replaced: the guard accepts one.
      const base = configured.replace(/_?\d+$/, '');
      assertTestName(base);
      await dropAbandoned(base);
      for (;;) {
        const name = `${base}_${randomInt(1, 2 ** 31)}`;
        try {
          await engine.knex.raw('create database ??', [name]);
        } catch (error) {
          if (error instanceof Error && 'code' in error && error.code === '42P04') continue;
          throw error;
        }
        await engine.knex.raw(`comment on database ?? is '${mark()}'`, [name]);
        return name;
      }
    },
    async createNamedDatabase(name) {
      if ((await statement('select 1 as one from pg_database where datname = ?', [name])).rows.length > 0) return;
      await engine.knex.raw('create database ??', [name]);
    },
    async dropDatabase(name) {
      assertTestName(name);
      await destroy(`drop database if exists "${name}" with (force)`);
    },
    async empty() {
      if (engine.dialect === 'postgres') {
        const tables = await names(
          `select format('%I.%I', schemaname, tablename) as name from pg_tables
           where schemaname not in ('pg_catalog', 'information_schema', 'mortise')`,
        );
        const truncate = `truncate ${tables.join(', ')} restart identity cascade`;
        if (tables.length > 0) await pastDeadlocks(() => destroy(truncate));
        return;
      }
      await engine.knex.raw('pragma foreign_keys = off');
      const isOwnTable = `name not like 'sqlite\\_%' escape '\\' and name not like 'mortise\\_%' escape '\\'`;
      for (const table of await names(
        `select name from pragma_table_list where type = 'table' and schema = 'main' and ${isOwnTable}`,
      )) {
        await destroy(`delete from "${table}"`);
      }
      for (const table of await names(
        `select name from pragma_table_list where type = 'virtual' and schema = 'main'`,
      )) {
        await destroy(`delete from "${table}"`).catch(() =>
          destroy(`insert into "${table}" ("${table}") values ('delete-all')`),
        );
      }
      if ((await names(`select name from sqlite_master where name = 'sqlite_sequence'`)).length > 0) {
        await destroy('delete from sqlite_sequence');
      }
    },
    close: () => engine.close(),
  };

  /** Drops databases of killed runs on this machine; only a shared server has any. */
  const dropAbandoned = async (base: string): Promise<void> => {
    const { rows } = await statement<{ name: string; mark: string | null }>(
      `select datname as name, shobj_description(oid, 'pg_database') as mark from pg_database where starts_with(datname, ?)`,
      [`${base}_`],
    );
    for (const row of rows) {
      const [, host, pid] = /^mortise test run of (.+) (\d+)$/.exec(row.mark ?? '') ?? [];
      if (host === hostname() && !isRunning(Number(pid))) await control.dropDatabase(row.name);
    }
  };

  try {
    if (guarded) await assertTestDatabase({ dialect: engine.dialect, statement });
  } catch (error) {
    await engine.close();
    throw error;
  }
  return control;
}

function mark(): string {
  return `mortise test run of ${hostname().replaceAll("'", '')} ${process.pid}`;
}

const testName = /_test(_?[0-9]+)?$/i;

/**
 * Guards destructive statements. Queries the connection, not the configuration, for the database it is on.
 *
 * @throws Error unless the database is one for tests.
 */
export async function assertTestDatabase(database: Pick<Database, 'dialect' | 'statement'>): Promise<void> {
  if (database.dialect === 'postgres') {
    const { rows } = await database.statement<{ name: string }>('select current_database() as name');
    assertTestName(rows[0]?.name ?? '');
    return;
  }
  const { rows } = await database.statement<{ name: string; file: string }>(
    'select name, file from pragma_database_list',
  );
  for (const { file } of rows) {
    if (file !== '' && !isRunFile(file)) assertTestName(basename(file, extname(file)));
  }
}

/** @throws Error unless the name ends in `_test`, with or without a number. */
function assertTestName(name: string): void {
  if (testName.test(name)) return;
  throw new Error(
    `Refusing to run tests against database '${name}': name must contain '_test' at its end to prevent accidental ` +
      'data loss. Set TEST_DATABASE_NAME to a test-specific database.',
  );
}

const maxDeadlocks = 10;

/** Timers of a host that a test leaves running take their locks in another order. */
async function pastDeadlocks<T>(run: () => Promise<T>): Promise<T> {
  for (let found = 0; ; found += 1) {
    try {
      return await run();
    } catch (error) {
      const isDeadlock = error instanceof Error && 'code' in error && error.code === '40P01';
      if (!isDeadlock || found === maxDeadlocks) throw error;
    }
  }
}
