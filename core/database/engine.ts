import type { Knex } from 'knex';
import type { Dialect, SqlValue, StatementResult, Transaction } from '../sdk/host/database.js';
import { databaseError } from './errors.js';
import type { StorageState } from './storage-watch.js';

/** A driver's connection; only the engine that made it uses its members. */
export type Connection = object;

/** The part of a knex client through which all calls of its knex object go. */
export interface QueryClient {
  query(connection: Connection, query: unknown): Promise<unknown>;
}

/** The work of a transaction, on its connection. */
export type TransactionWork<T> = (trx: Transaction, connection: Connection) => Promise<T>;

export interface TransactionFacts {
  /** It sees one state of the whole database and may not write. */
  readonly readOnlySnapshot: boolean;
  /** Called with the client of its knex object before anything is sent through it. */
  onClient(client: QueryClient): void;
}

export interface PoolReading {
  readonly used: number;
  readonly free: number;
  /** Callers that wait for a connection. */
  readonly pending: number;
}

/** The file of an embedded database. */
export interface DatabaseFile {
  /** Compares the open file with the file that has its name now. */
  look(): Promise<StorageState>;
  /** Runs a query on the open file; undefined while it cannot be asked: it is not open, or a transaction is. */
  read(sql: string): readonly object[] | undefined;
  /** Copies what is only in the log into the open file, so that it is complete wherever it is now. */
  preserve(): Promise<void>;
  /** The file that has the name now is a complete database for which `holds` is true. */
  isUsable(holds: (read: (sql: string) => readonly object[]) => boolean): Promise<boolean>;
  /** Closes the open file; the next connection opens the file that then has the name. */
  reopen(): Promise<void>;
  /** A path to read the open file after it was renamed or deleted; undefined where the system has none. */
  openPath(): string | undefined;
}

type Several = readonly StatementResult<object>[];

/** What differs between the dialects; everything above it is written once. */
export interface Engine {
  readonly dialect: Dialect;
  readonly knex: Knex;
  /** SQL text for the database's own clock. */
  readonly now: { readonly millis: string; readonly time: string };
  /** Names the database for people; never with a password. */
  readonly target: string;
  /** A connection; synchronously if one is free and needs no setup. */
  acquire(): Connection | Promise<Connection>;
  release(connection: Connection): void;
  /** Runs a cached prepared statement with `?` bindings on a connection. */
  statement<Row extends object>(
    connection: Connection,
    sql: string,
    bindings: readonly SqlValue[],
  ): StatementResult<Row> | Promise<StatementResult<Row>>;
  /** Runs them in order, in the connection's transaction; the first error is thrown when all have ended. */
  batch(connection: Connection, statements: readonly ExpandedStatement[]): Several | Promise<Several>;
  /** Claims free rows, in the connection's transaction if it has one open, else in one of its own. */
  claim<Row extends object>(connection: Connection, plan: ClaimPlan): Row[] | Promise<Row[]>;
  /** Commits when the work resolves, rolls back when it rejects. */
  transaction<T>(work: TransactionWork<T>, facts: TransactionFacts): Promise<T>;
  pool(): PoolReading;
  /** The database file; absent for a database server. */
  readonly file?: DatabaseFile;
  /** Refuses new work, waits for running work, closes the connections. */
  close(): Promise<void>;
}

/** A statement with physical names and its bindings. */
export interface ExpandedStatement {
  readonly sql: string;
  readonly bindings: readonly SqlValue[];
}

/** A claim with physical names, ready to be written in a dialect. */
export interface ClaimPlan {
  readonly table: string;
  readonly key: string;
  readonly where: string;
  readonly whereBindings: readonly SqlValue[];
  readonly orderBy: string;
  readonly limit: number;
  readonly set: string;
  readonly setBindings: readonly SqlValue[];
}

/** Statement text with its question marks counted. */
interface CompiledStatement {
  readonly text: string;
  readonly marks: number;
}

/** Converts `?` to the driver's placeholder and `\?` to a question mark; the result is cached per text. */
export function statementCompiler(mark: (position: number) => string): (sql: string) => CompiledStatement {
  const cache = new Map<string, CompiledStatement>();
  return (sql) => {
    const known = cache.get(sql);
    if (known !== undefined) return known;
    let marks = 0;
    const text = sql.replace(/\\?\?/g, (found) => {
      if (found.length === 2) return '?';
      marks += 1;
      return mark(marks);
    });
    const compiled = { text, marks };
    if (cache.size >= 2_000) cache.clear();
    cache.set(sql, compiled);
    return compiled;
  };
}

/** @throws MortiseError `statement_bindings` */
export function checkBindings(compiled: CompiledStatement, bindings: readonly SqlValue[]): void {
  if (compiled.marks !== bindings.length) {
    throw databaseError('statement_bindings', { marks: compiled.marks, bindings: bindings.length });
  }
}

/** How the connections of a knex client are in use right now. */
export function poolReading(client: Knex.Client): PoolReading {
  const pool = client.pool as { numUsed(): number; numFree(): number; numPendingAcquires(): number } | undefined;
  if (pool === undefined) return { used: 0, free: 0, pending: 0 };
  return { used: pool.numUsed(), free: pool.numFree(), pending: pool.numPendingAcquires() };
}
