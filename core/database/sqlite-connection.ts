import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { storableText } from './codec.js';
import { databaseError, errorKind } from './errors.js';
import type { LentConnection } from './single-connection.js';

/** The used part of a better-sqlite3 connection. */
export interface SqliteConnection extends LentConnection {
  readonly inTransaction: boolean;
  prepare(sql: string): SqliteStatement;
  pragma(text: string): unknown;
  exec(sql: string): unknown;
  /** Commits what `run` did when it returns, rolls it back when it throws. */
  transaction<T>(run: () => T): { immediate(): T };
}

interface SqliteStatement {
  /** The statement returns rows. */
  readonly reader: boolean;
  all(bindings: readonly unknown[]): object[];
  run(bindings: readonly unknown[]): { readonly changes: number; readonly lastInsertRowid: number | bigint };
}

interface SqliteOutcome {
  readonly rows: object[];
  readonly changes: number;
  readonly lastInsertRowid: number | bigint;
}

/** Cached prepared statements per connection. */
const statementLimit = 500;

/** After this much work it yields to the event loop, so that HTTP is served during bulk work. */
const sliceMs = 10;

const statements = new WeakMap<SqliteConnection, LRUCache<string, SqliteStatement>>();
const busyLimits = new WeakMap<SqliteConnection, number>();
const commitListeners = new WeakMap<SqliteConnection, () => void>();
const owned = new WeakSet<SqliteConnection>();

let sliceEnd = 0;

/** How long work on this connection waits while another process writes. */
export function setBusyLimit(connection: SqliteConnection, ms: number): void {
  busyLimits.set(connection, ms);
}

/** `run` is called after every transaction that this connection commits. */
export function onCommit(connection: SqliteConnection, run: () => void): void {
  commitListeners.set(connection, run);
}

export function committed(connection: SqliteConnection): void {
  commitListeners.get(connection)?.();
}

/** Runs one statement, prepared once per connection: preparing costs six times as much as running. */
export function execute(connection: SqliteConnection, sql: string, bindings: readonly unknown[]): SqliteOutcome {
  const statement = prepared(connection, sql);
  const values = bindings.map(storable);
  if (statement.reader) {
    const rows = statement.all(values);
    return { rows, changes: rows.length, lastInsertRowid: 0 };
  }
  return { rows: [], ...statement.run(values) };
}

function prepared(connection: SqliteConnection, sql: string): SqliteStatement {
  let cache = statements.get(connection);
  if (cache === undefined) {
    cache = new LRUCache({ max: statementLimit });
    statements.set(connection, cache);
  }
  const cached = cache.get(sql);
  if (cached !== undefined) return cached;
  const statement = connection.prepare(sql);
  // knex numbers its savepoints, so they never repeat: caching them would evict statements that do.
  if (!/^(savepoint|release|rollback to) (savepoint )?trx\d/i.test(sql)) cache.set(sql, statement);
  return statement;
}

/** Flags are stored as 0 and 1 and times as the codec writes them. */
function storable(value: unknown): unknown {
  if (typeof value === 'string') return storableText(value);
  if (typeof value === 'boolean') return value ? 1 : 0;
  if (value instanceof Date) return value.toISOString();
  return value === undefined ? null : value;
}

/**
 * Does synchronous database work, immediately if possible: yields to the event loop after longer work, and waits without
 * blocking it while another process holds the write lock. Inside a transaction the lock is held already.
 */
export function patiently<T>(connection: SqliteConnection, work: () => T): T | Promise<T> {
  if (performance.now() > sliceEnd) return afterTurn(connection, work);
  try {
    return work();
  } catch (error) {
    return again(connection, work, error);
  }
}

async function afterTurn<T>(connection: SqliteConnection, work: () => T): Promise<T> {
  await nextTurn();
  sliceEnd = performance.now() + sliceMs;
  try {
    return work();
  } catch (error) {
    return again(connection, work, error);
  }
}

async function again<T>(connection: SqliteConnection, work: () => T, first: unknown): Promise<T> {
  const deadline = performance.now() + (busyLimits.get(connection) ?? 0);
  for (let error = first; ; ) {
    if (connection.inTransaction || errorKind(error) !== 'busy' || performance.now() >= deadline) throw error;
    await delay(2 + Math.random() * 10);
    try {
      return work();
    } catch (latest) {
      error = latest;
    }
  }
}

/** Records whether a transaction owns the connection. */
export function setOwned(connection: SqliteConnection, isOwned: boolean): void {
  if (isOwned) owned.add(connection);
  else owned.delete(connection);
}

/**
 * SQLite ends a transaction by itself after errors such as a full disk. What its owner runs afterwards would be
 * committed alone, statement by statement: it is refused.
 *
 * @throws MortiseError `transaction_aborted`
 */
export function assertAlive(connection: SqliteConnection): void {
  if (owned.has(connection) && !connection.inTransaction) throw databaseError('transaction_aborted');
}
