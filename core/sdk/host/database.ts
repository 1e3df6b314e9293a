import type { Knex } from 'knex';
import type { Disposable } from '../context.js';

export type Dialect = 'sqlite' | 'postgres';

/** An open transaction. Pass it as `{ trx }`; it can also be queried directly. */
export type Transaction = Knex.Transaction;

export interface TransactionOption {
  readonly trx?: Transaction | undefined;
}

/** A value bound to `?`. A boolean is stored as a flag, a `Date` as a time; JSON goes through the codec. */
export type SqlValue = string | number | bigint | boolean | Date | Uint8Array | null;

/** SQL in place of a value, e.g. `{ sql: database.now.time }` or `{ sql: 'tries + ?', bindings: [1] }`. */
export interface SqlExpression {
  readonly sql: string;
  readonly bindings?: readonly SqlValue[];
}

export interface StatementResult<Row> {
  /** Of a query or a `returning` clause; empty otherwise. */
  readonly rows: Row[];
  /** Rows inserted, updated or deleted; the number of rows for a query. */
  readonly changes: number;
}

export interface Migration {
  /** Stable and ordered, e.g. `0001-sessions`. Never changed once released. */
  readonly name: string;
  /** Runs inside the migration transaction. */
  up(schema: MigrationSchema): Promise<void>;
}

export interface MigrationSchema {
  readonly dialect: Dialect;
  readonly knex: Knex.Transaction;
  /** Physical name, as {@link Database.table}. */
  table(name: string): string;
  /** Creates a table in its logical schema; `columns` adds the columns that differ between the dialects. */
  createTable(name: string, build: (table: Knex.CreateTableBuilder, columns: MigrationColumns) => void): Promise<void>;
  /** Adds columns, indexes and keys to a table of an earlier migration. */
  alterTable(name: string, build: (table: Knex.AlterTableBuilder, columns: MigrationColumns) => void): Promise<void>;
  /** One statement for both dialects, or one per dialect. `{schema.table}` becomes the physical name. */
  raw(sql: string | Partial<Record<Dialect, string>>): Promise<void>;
}

/** Column types whose SQL differs between the dialects. */
export interface MigrationColumns {
  /** Auto-increment 64-bit primary key. */
  id(name: string): Knex.ColumnBuilder;
  /** `timestamptz` / ISO 8601 text with milliseconds and `Z`; defaults to now when asked. */
  time(name: string, options?: { readonly defaultNow?: boolean }): Knex.ColumnBuilder;
  /** `jsonb` / text; `empty` is the default value's JSON text. */
  json(name: string, empty?: '{}' | '[]'): Knex.ColumnBuilder;
  /** 64-bit epoch milliseconds. */
  millis(name: string): Knex.ColumnBuilder;
  flag(name: string, initial: boolean): Knex.ColumnBuilder;
}

export interface BatchStatement {
  readonly sql: string;
  readonly bindings?: readonly SqlValue[];
}

export interface ClaimRows {
  /** Logical name, e.g. `logbook.outbox_memory`. */
  readonly table: string;
  /** Primary key column. */
  readonly key: string;
  /** SQL condition with `?` bindings that a free row meets. */
  readonly where: string;
  readonly bindings?: readonly SqlValue[];
  /** Columns, optionally followed by ` desc`. The key is always appended as the last one. */
  readonly orderBy: readonly string[];
  readonly limit: number;
  /** Columns to set on the claimed rows. Afterwards the condition must no longer hold. */
  readonly set: Readonly<Record<string, SqlValue | SqlExpression>>;
}

/**
 * One logical database with the same behaviour on both dialects. A plugin sees only the logical schemas its manifest
 * declares (`permissions.schemas`).
 *
 * Rows have the same form on both: 64-bit integers, counts and sums as numbers; times as ISO 8601 text; JSON as text
 * (read it with `codec.parseJson`); flags as boolean or 0/1 (read them with `codec.parseFlag`).
 */
export interface Database {
  readonly dialect: Dialect;
  /** Physical name of a logical table: `logbook.kv` is `logbook.kv` on PostgreSQL and `logbook_kv` on SQLite. */
  table(name: string): string;
  /**
   * The query builder over the pool, or over the transaction given.
   * @throws MortiseError `nested_query` when used without `trx` inside an open transaction of the same call chain:
   * with a single connection it would deadlock.
   */
  query(options?: TransactionOption): Knex;
  /**
   * Runs one statement, prepared once per connection and cached. Use it on hot paths: the query builder costs 50 to
   * 100 µs per statement, this about 4 µs on SQLite. `?` is a binding, `{schema.table}` a physical name, `\?` a question mark.
   * Keep the text constant: every text is prepared and cached.
   * @throws MortiseError `nested_query` as {@link query}.
   *
   * @example
   * const { rows } = await database.statement<{ seq: number }>(
   *   `update {realtime.sessions} set next_seq = next_seq + 1 where id = ? and lock_token = ? returning next_seq - 1 as seq`,
   *   [key, token], { trx });
   */
  statement<Row extends object = Record<string, unknown>>(
    sql: string,
    bindings?: readonly SqlValue[],
    options?: TransactionOption,
  ): Promise<StatementResult<Row>>;
  /**
   * Runs statements of a transaction that do not depend on each other's results, in order. On PostgreSQL they are
   * pipelined in one round trip. Each has the form of {@link statement}.
   * @throws the first error, after all have ended.
   */
  batch(
    statements: readonly BatchStatement[],
    options: { readonly trx: Transaction },
  ): Promise<readonly StatementResult<Record<string, unknown>>[]>;
  /**
   * Commits when `run` resolves, rolls back when it rejects. With `trx`: a savepoint inside it.
   * READ COMMITTED on PostgreSQL; on SQLite the write lock is taken at the start. `readOnlySnapshot` sees one state of
   * the whole database and may not write.
   *
   * The host rolls back an open transaction when the plugin is stopped, when the call that opened it continues for 5 s
   * after its abort and its own limit, and after 30 s without a statement. It then no longer waits for `run`.
   *
   * @throws MortiseError `transaction_ended` (503), also from every later call with its `trx`
   */
  transaction<T>(
    run: (trx: Transaction) => Promise<T>,
    options?: TransactionOption & { readonly readOnlySnapshot?: boolean },
  ): Promise<T>;
  /** Runs `run` once the outermost transaction of `trx` has committed, and never when any part of it rolled back. */
  afterCommit(trx: Transaction, run: () => void): void;
  /**
   * Applies pending migrations in order, under a database lock. Recorded per plugin; safe to repeat.
   * @throws MortiseError `migration_failed` (after a rollback) or `schema_newer` (the database was written
   * by a later version of the plugin).
   */
  migrate(migrations: readonly Migration[]): Promise<void>;
  /**
   * Claims free rows exactly once across all processes and returns them in order, as they are after the claim:
   * `FOR UPDATE SKIP LOCKED` on PostgreSQL, one `UPDATE … RETURNING` on SQLite.
   */
  claim<Row extends object>(claim: ClaimRows, options?: TransactionOption): Promise<Row[]>;
  /** SQL expressions for the database's clock: epoch milliseconds, and a time in the codec's format. */
  readonly now: { readonly millis: string; readonly time: string };
  readonly codec: DatabaseCodec;
  /**
   * PostgreSQL: `NOTIFY` to every process, including this one. SQLite: listeners of this process only. With `trx` it is
   * sent when the transaction commits. Channels are private to the plugin. The payload has at most 7,000 bytes.
   * Delivery is not guaranteed: poll as well.
   */
  notify(channel: string, payload: string, options?: TransactionOption): Promise<void>;
  /** `missed` is called after a lost connection was restored: notifications in between are lost. */
  listen(
    channel: string,
    run: (payload: string) => void,
    options?: { readonly missed?: () => void },
  ): Promise<Disposable>;
  /** True when a query answers within `timeoutMs` (default 2,000). */
  ping(timeoutMs?: number): Promise<boolean>;
  /**
   * True when a small write commits within `timeoutMs` (default 2,000). After a write has failed for lack of space, a
   * large one must succeed: a full disk still answers queries and accepts a few bytes.
   */
  canWrite(timeoutMs?: number): Promise<boolean>;
}

/** Encodes and decodes times, JSON and flags. */
export interface DatabaseCodec {
  /** Binds a JSON value (jsonb / text). NUL and lone surrogates, which jsonb cannot hold, become U+FFFD. */
  json(value: unknown): string;
  /** Reads what {@link json} stored; null stays null. */
  parseJson<T = unknown>(stored: unknown): T;
  /** Binds a time. */
  time(at: Date | number | string): string;
  /** Reads a stored time as ISO 8601 UTC with milliseconds and `Z`; null stays null. */
  parseTime(stored: unknown): string | null;
  parseFlag(stored: unknown): boolean;
  /** Reads a 64-bit integer or count as a number. */
  parseInteger(stored: unknown): number;
  /** Classifies a database error. */
  errorKind(error: unknown): DatabaseErrorKind;
}

/**
 * `unavailable`: no connection, try later. `busy`: deadlock, serialisation failure or a held lock, try again now.
 * `timeout`: the statement was cancelled. `full`: no space.
 */
export type DatabaseErrorKind = 'unavailable' | 'unique' | 'foreign-key' | 'busy' | 'timeout' | 'full' | 'other';
