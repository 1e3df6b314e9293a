import { closeSync, existsSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import knex, { type Knex } from 'knex';
import type { Logger } from '../sdk/context.js';
import type { SqlValue, StatementResult } from '../sdk/host/database.js';
import { knexLog, shortReason } from './connection-error.js';
import { type ClaimPlan, checkBindings, type Engine, poolReading, statementCompiler } from './engine.js';
import { databaseError } from './errors.js';
import type { SqliteSettings } from './settings.js';
import { longestLogPages, SqliteCheckpoints } from './sqlite-checkpoints.js';
import { SqliteClient } from './sqlite-client.js';
import { assertAlive, execute, onCommit, patiently, type SqliteConnection, setBusyLimit } from './sqlite-connection.js';

/** How long the driver itself may wait for a lock: while it does, the whole process stands still. */
const driverBusyTimeoutMs = 20;

/**
 * The embedded database: one connection per process, because a synchronous driver with two would wait for itself.
 * Several processes may use one file.
 *
 * @throws MortiseError `database_unusable` when folder or file cannot be made.
 */
export function sqliteEngine(settings: SqliteSettings, log: Logger): Engine {
  makePrivateFile(settings.file);
  const checkpoints = new SqliteCheckpoints(settings.file);
  const builder = knex({
    client: SqliteClient,
    connection: { filename: settings.file },
    useNullAsDefault: true,
    compileSqlOnError: false,
    acquireConnectionTimeout: 30_000,
    log: knexLog(log),
    pool: {
      min: 1,
      max: 1,
      afterCreate(connection: SqliteConnection, done: (error: unknown, connection: SqliteConnection) => void) {
        try {
          prepareConnection(connection, settings.busyTimeoutMs ?? 5_000);
          if (settings.file !== ':memory:') onCommit(connection, () => checkpoints.committed());
          done(null, connection);
        } catch (error) {
          done(error, connection);
        }
      },
    },
  });
  const client: Knex.Client = builder.client;
  const compile = statementCompiler(() => '?');

  const statement = async <Row extends object>(
    connection: SqliteConnection,
    sql: string,
    bindings: readonly SqlValue[],
  ): Promise<StatementResult<Row>> => {
    const compiled = compile(sql);
    checkBindings(compiled, bindings);
    assertAlive(connection);
    const outcome = await patiently(connection, () => execute(connection, compiled.text, bindings));
    return { rows: outcome.rows as Row[], changes: outcome.changes };
  };

  return {
    dialect: 'sqlite',
    knex: builder,
    now: { millis: `cast(unixepoch('subsec') * 1000 as integer)`, time: `strftime('%Y-%m-%dT%H:%M:%fZ', 'now')` },
    target: settings.file,
    acquire: () => client.acquireConnection(),
    release: (connection) => void client.releaseConnection(connection),
    statement,
    // In the transaction nobody else writes: there is nothing to wait for between two of them.
    batch: (connection: SqliteConnection, statements) => {
      assertAlive(connection);
      return patiently(connection, () =>
        statements.map(({ sql, bindings }) => {
          const compiled = compile(sql);
          checkBindings(compiled, bindings);
          const { rows, changes } = execute(connection, compiled.text, bindings);
          return { rows, changes };
        }),
      );
    },
    claim: async <Row extends object>(connection: SqliteConnection, plan: ClaimPlan): Promise<Row[]> => {
      assertAlive(connection);
      return patiently(connection, () => claimRows<Row>(connection, plan));
    },
    pool: () => poolReading(client),
    async close() {
      await builder.destroy();
      await checkpoints.close();
    },
  };
}

function prepareConnection(connection: SqliteConnection, busyTimeoutMs: number): void {
  // A long wait here: two processes that start together both turn on WAL.
  connection.pragma('busy_timeout = 5000');
  connection.pragma('journal_mode = WAL');
  // FULL: a commit is on disk before it is acknowledged (the driver's own default for WAL is NORMAL).
  connection.pragma('synchronous = FULL');
  connection.pragma('foreign_keys = ON');
  // A statement of many rows keeps the pages it changes, for the case that it fails half-way: not in a file, which costs
  // more than the rows themselves.
  connection.pragma('temp_store = MEMORY');
  connection.pragma(`wal_autocheckpoint = ${longestLogPages}`);
  connection.pragma(`busy_timeout = ${driverBusyTimeoutMs}`);
  setBusyLimit(connection, busyTimeoutMs);
}

/**
 * Picks and claims without giving up the thread, under the write lock, so that neither this process nor another one
 * gets between. Looking first costs no lock when there is nothing to claim.
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
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    if (!existsSync(file)) closeSync(openSync(file, 'a', 0o600));
  } catch (error) {
    throw databaseError('database_unusable', { target: file, reason: shortReason(error) }, error);
  }
}
