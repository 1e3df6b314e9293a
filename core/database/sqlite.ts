import { closeSync, existsSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import knex, { type Knex } from 'knex';
import type { Logger } from '../sdk/context.js';
import { makeFolders } from '../sdk/folders.js';
import type { SqlValue, StatementResult } from '../sdk/host/database.js';
import { type ClaimPlan, checkBindings, type Engine, statementCompiler } from './engine.js';
import { connectionError, databaseError, knexLog, shortReason } from './errors.js';
import type { SqliteSettings } from './settings.js';
import { SingleConnection } from './single-connection.js';
import { maxLogPages, SqliteCheckpoints } from './sqlite-checkpoints.js';
import { SqliteClient } from './sqlite-client.js';
import { assertAlive, execute, onCommit, patiently, type SqliteConnection, setBusyLimit } from './sqlite-connection.js';
import { SqliteFile } from './sqlite-file.js';
import { sqliteTransaction } from './sqlite-transaction.js';

/** How long the driver itself may wait for a lock, which blocks the whole process. */
const driverBusyTimeoutMs = 20;

/** How long a caller waits for the connection. */
const acquireLimitMs = 30_000;

/**
 * The embedded database: one connection per process, because a synchronous driver with two would deadlock with itself.
 * Several processes may use one file.
 *
 * @throws MortiseError `database_unusable` when folder or file cannot be made.
 */
export function sqliteEngine(settings: SqliteSettings, log: Logger): Engine {
  makePrivateFile(settings.file);
  const checkpoints = new SqliteCheckpoints(settings.file);
  const connections = new SingleConnection(() => {
    const connection = openConnection(settings);
    file?.opened(connection);
    if (settings.file !== ':memory:') onCommit(connection, () => checkpoints.committed());
    return connection;
  }, acquireLimitMs);
  const file = settings.file === ':memory:' ? undefined : new SqliteFile(settings.file, connections, checkpoints);
  const builder = knex({
    client: SqliteClient,
    useNullAsDefault: true,
    compileSqlOnError: false,
    log: knexLog(log),
    connectionPool: connections,
  });
  const client: Knex.Client = builder.client;
  const compile = statementCompiler(() => '?');

  const run = <Row extends object>(
    connection: SqliteConnection,
    sql: string,
    bindings: readonly SqlValue[],
  ): StatementResult<Row> => {
    const compiled = compile(sql);
    checkBindings(compiled, bindings);
    const { rows, changes } = execute(connection, compiled.text, bindings);
    return { rows: rows as Row[], changes };
  };

  return {
    dialect: 'sqlite',
    knex: builder,
    now: { millis: `cast(unixepoch('subsec') * 1000 as integer)`, time: `strftime('%Y-%m-%dT%H:%M:%fZ', 'now')` },
    target: settings.file,
    acquire: () => connections.take(),
    release: (connection: SqliteConnection) => void connections.release(connection),
    statement: <Row extends object>(connection: SqliteConnection, sql: string, bindings: readonly SqlValue[]) => {
      assertAlive(connection);
      return patiently(connection, () => run<Row>(connection, sql, bindings));
    },
    // The transaction holds the write lock, so its statements never wait.
    batch: (connection: SqliteConnection, statements) => {
      assertAlive(connection);
      return patiently(connection, () => statements.map(({ sql, bindings }) => run(connection, sql, bindings)));
    },
    claim: <Row extends object>(connection: SqliteConnection, plan: ClaimPlan) => {
      assertAlive(connection);
      return patiently(connection, () => claimRows<Row>(connection, plan));
    },
    transaction: (work, facts) => sqliteTransaction(client, connections, work, facts),
    pool: () => connections.reading(),
    ...(file ? { file } : {}),
    async close() {
      await connections.destroy();
      await builder.destroy();
      await checkpoints.close();
      file?.close();
    },
  };
}

/** @throws MortiseError `database_unavailable` */
function openConnection(settings: SqliteSettings): SqliteConnection {
  let connection: SqliteConnection | undefined;
  try {
    connection = new Database(settings.file);
    prepareConnection(connection, settings.busyTimeoutMs ?? 5_000);
    return connection;
  } catch (error) {
    connection?.close();
    throw connectionError(error);
  }
}

function prepareConnection(connection: SqliteConnection, busyTimeoutMs: number): void {
  // A long wait here: two processes that start together both turn on WAL.
  connection.pragma('busy_timeout = 5000');
  connection.pragma('journal_mode = WAL');
  // FULL: a commit is on disk before it is acknowledged (the driver's own default for WAL is NORMAL).
  connection.pragma('synchronous = FULL');
  connection.pragma('foreign_keys = ON');
  // Page cache in KiB: with the 2 MB of the default the indexes of 100,000 memories are read again and again.
  connection.pragma('cache_size = -32768');
  // A statement of many rows keeps the pages it changes, for the case that it fails half-way: not in a file, which costs
  // more than the rows themselves.
  connection.pragma('temp_store = MEMORY');
  connection.pragma(`wal_autocheckpoint = ${maxLogPages}`);
  connection.pragma(`busy_timeout = ${driverBusyTimeoutMs}`);
  setBusyLimit(connection, busyTimeoutMs);
}

/**
 * Selects and claims synchronously, under the write lock, so that neither this process nor another one
 * interferes. Checking first needs no lock when there is nothing to claim.
 */
function claimRows<Row extends object>(connection: SqliteConnection, plan: ClaimPlan): Row[] {
  const pick = `select ${plan.key} as key from ${plan.table} where ${plan.where} order by ${plan.orderBy} limit ${plan.limit}`;
  const take =
    `update ${plan.table} set ${plan.set} where ${plan.key} in (select value from json_each(?)) ` +
    `returning ${plan.key} as "claimed key", *`;
  const picked = (): unknown[] =>
    execute(connection, pick, plan.whereBindings).rows.map((row) => (row as { readonly key: unknown }).key);
  const claim = (): Row[] => {
    const keys = picked();
    if (keys.length === 0) return [];
    const place = new Map(keys.map((key, index) => [key, index]));
    const rows = execute(connection, take, [...plan.setBindings, JSON.stringify(keys)]).rows;
    const placed = rows.map((row) => {
      const { 'claimed key': key, ...columns } = row as { readonly 'claimed key': unknown };
      return { at: place.get(key) ?? 0, columns: columns as Row };
    });
    return placed.sort((a, b) => a.at - b.at).map((row) => row.columns);
  };
  if (connection.inTransaction) return claim();
  if (picked().length === 0) return [];
  return connection.transaction(claim).immediate();
}

/** The folder is readable by its owner alone, and so is the file; SQLite gives its log files the same rights. */
function makePrivateFile(file: string): void {
  if (file === ':memory:') return;
  try {
    makeFolders(dirname(file), 0o700);
    if (!existsSync(file)) closeSync(openSync(file, 'a', 0o600));
  } catch (error) {
    throw databaseError('database_unusable', { target: file, reason: shortReason(error) }, error);
  }
}
