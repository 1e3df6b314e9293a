import type { Knex } from 'knex';
import BetterSqliteClient from 'knex/lib/dialects/better-sqlite3/index.js';
import SqliteTransaction from 'knex/lib/dialects/sqlite3/execution/sqlite-transaction.js';
import { connectionError, databaseError } from './errors.js';
import { assertAlive, committed, execute, patiently, type SqliteConnection, setOwned } from './sqlite-connection.js';
import { ended, forbidWrites } from './sqlite-transaction.js';

interface SqliteQuery {
  readonly sql: string;
  readonly bindings?: readonly unknown[];
  response?: unknown;
  context?: { readonly lastID: number | bigint; readonly changes: number };
}

/**
 * Takes the write lock at the start. A transaction that begins by reading and then writes would fail at once, without
 * waiting, when another process wrote in between.
 */
class ImmediateTransaction extends SqliteTransaction {
  override async begin(connection: SqliteConnection): Promise<unknown> {
    if (this.readOnly !== true) return this.query(connection, 'BEGIN IMMEDIATE');
    forbidWrites(connection);
    return this.query(connection, 'BEGIN');
  }
}

/** knex's better-sqlite3 dialect with cached statements, immediate transactions and non-blocking waits. */
export class SqliteClient extends BetterSqliteClient {
  override transaction(container: unknown, config: unknown, outer: unknown): Knex.Transaction {
    // knex's types describe the transaction that a container is given; at run time this is the promise of its end.
    return new ImmediateTransaction(this, container, config, outer) as unknown as Knex.Transaction;
  }

  override async acquireConnection(): Promise<SqliteConnection> {
    if (this.pool === undefined) throw databaseError('database_closed');
    try {
      return await super.acquireConnection();
    } catch (error) {
      throw connectionError(error);
    }
  }

  override async _query(connection: SqliteConnection, query: SqliteQuery): Promise<SqliteQuery> {
    const { sql } = query;
    const step = transactionStep(sql);
    if (step === 'end' && /^rollback/i.test(sql) && !connection.inTransaction) {
      // SQLite has already rolled back; the error that caused it is reported.
      ended(connection);
      return query;
    }
    if (step === undefined) assertAlive(connection);
    try {
      const outcome = await patiently(connection, () => execute(connection, sql, query.bindings ?? []));
      query.response = outcome.rows;
      query.context = { lastID: outcome.lastInsertRowid, changes: outcome.changes };
      if (step === 'begin') setOwned(connection, true);
      if (step === 'end' && /^commit/i.test(sql)) committed(connection);
      return query;
    } catch (error) {
      // A commit that failed must not leave its transaction open for the next user of the connection.
      if (step === 'end' && connection.inTransaction) connection.exec('ROLLBACK');
      throw error;
    } finally {
      if (step === 'end') ended(connection);
    }
  }
}

function transactionStep(sql: string): 'begin' | 'end' | undefined {
  if (/^begin\b/i.test(sql)) return 'begin';
  return /^(commit\b|rollback;?$)/i.test(sql) ? 'end' : undefined;
}
