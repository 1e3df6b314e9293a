import type { Knex } from 'knex';
import type { Disposable } from '../context.js';

export type Dialect = 'sqlite' | 'postgres';

/** An open transaction. Hand it on as `{ trx }`; it can also be queried directly. */
export type Transaction = Knex.Transaction;

export interface TransactionOption {
  readonly trx?: Transaction | undefined;
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
  /** Creates a table in its logical schema with the columns that differ between the dialects made by `columns`. */
  createTable(name: string, build: (table: Knex.CreateTableBuilder, columns: MigrationColumns) => void): Promise<void>;
  /** One statement for one dialect. `{schema.table}` is replaced by the physical name. */
  raw(sql: Partial<Record<Dialect, string>>): Promise<void>;
}

/** Column kinds that are one thing with two spellings. */
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

export interface ClaimRows {
  readonly table: string;
  readonly key: string;
  /** SQL condition with `?` bindings that a free row meets. */
  readonly where: string;
  readonly bindings?: readonly Knex.Value[];
  readonly orderBy: readonly string[];
  readonly limit: number;
  /** Columns to set on the claimed rows. */
  readonly set: Readonly<Record<string, Knex.Value | Knex.Raw>>;
}

/**
 * One logical database with two dialects and one behaviour. A plugin sees only the logical schemas its manifest
 * declares (`permissions.schemas`).
 */
export interface Database {
  readonly dialect: Dialect;
  /** Physical name of a logical table: `logbook.kv` is `logbook.kv` on PostgreSQL and `logbook_kv` on SQLite. */
  table(name: string): string;
  /**
   * The query builder over the pool, or over the transaction given.
   * @throws MortiseError `nested_query` when used without `trx` inside an open transaction of the same call chain:
   * with one connection it would wait for itself for ever.
   */
  query(options?: TransactionOption): Knex;
  /** Commits when `run` resolves, rolls back when it rejects. With `trx`: a savepoint inside it. */
  transaction<T>(
    run: (trx: Transaction) => Promise<T>,
    options?: TransactionOption & { readonly readOnlySnapshot?: boolean },
  ): Promise<T>;
  /** Applies what is missing, in order, under a database lock; recorded per plugin; safe to repeat. */
  migrate(migrations: readonly Migration[]): Promise<void>;
  /**
   * Claims free rows exactly once over all processes and returns them as they are after the claim, in order:
   * `FOR UPDATE SKIP LOCKED` on PostgreSQL, one `UPDATE … RETURNING` on SQLite.
   */
  claim<Row extends object>(claim: ClaimRows, options?: TransactionOption): Promise<Row[]>;
  /** SQL text for the database's own clock. */
  readonly now: { readonly millis: string; readonly time: string };
  readonly codec: DatabaseCodec;
  /** PostgreSQL: `NOTIFY` to every process. SQLite: listeners of this process only. At most 7,000 bytes. */
  notify(channel: string, payload: string): Promise<void>;
  listen(channel: string, run: (payload: string) => void): Promise<Disposable>;
  /** True when a query answers within `timeoutMs` (default 2,000). */
  ping(timeoutMs?: number): Promise<boolean>;
}

/** The one encoding of times and JSON. */
export interface DatabaseCodec {
  /** Binds a JSON value (jsonb / text). */
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
  /** The class of a database error: who may retry, and what it means. */
  errorKind(error: unknown): 'unavailable' | 'unique' | 'foreign-key' | 'busy' | 'timeout' | 'full' | 'other';
}
