import type { Knex } from 'knex';
import type { Logger } from '../sdk/context.js';
import { MortiseError, type MortiseErrorOptions } from '../sdk/errors.js';
import type { DatabaseErrorKind } from '../sdk/host/database.js';

/** Every error that this folder raises: code, HTTP status, sentence and hint. */
const errors = {
  database_unreachable: {
    status: 503,
    message: 'The database {target} cannot be reached: {reason}.',
    hint: 'Start it, or correct DATABASE_URL (or DATABASE_HOST, DATABASE_PORT, DATABASE_USER, DATABASE_PASSWORD, DATABASE_NAME). Without them an embedded SQLite file is used.',
  },
  database_refused: {
    status: 503,
    message: 'The database {target} refuses the connection: {reason}.',
    hint: 'Check user, password and database name, and that the user may connect and create schemas.',
  },
  database_unusable: {
    status: 503,
    message: 'The database file {target} cannot be used: {reason}.',
    hint: 'Check that the folder is writable and has space, and that the file is a SQLite database.',
  },
  database_unavailable: {
    status: 503,
    message: 'The database does not answer at the moment.',
    hint: 'Try again; the pool reconnects automatically when the database is back.',
  },
  database_full: {
    status: 503,
    message: 'The database has no space left: what would have to be written is refused.',
    hint: 'Free disk space for the database; writes then resume automatically.',
  },
  database_lost: {
    status: 503,
    message: 'The database of the running server was taken away: nothing is read or written.',
    hint: 'Run mortise plugin doctor on the server: it says what happened and what to do.',
  },
  database_closed: { status: 503, message: 'The database is closed.', hint: 'The process is shutting down.' },
  nested_query: {
    status: 500,
    message: 'A database call without { trx } was made inside an open transaction.',
    hint: 'Pass the open transaction as { trx }, or do the work after the commit with afterCommit().',
  },
  transaction_over: {
    status: 500,
    message: 'The transaction was already committed or rolled back.',
    hint: 'Await every call that uses the transaction before its function returns.',
  },
  transaction_ended: {
    status: 503,
    message: 'The transaction of plugin {plugin} was rolled back by the host: {why}.',
    hint: 'Keep transactions short: wait for nothing but the database in them, and stop when the signal of the call says so.',
  },
  transaction_aborted: {
    status: 500,
    message: 'The transaction was rolled back by the database after an error inside it.',
    hint: 'Let the error leave the transaction, or run the statement that may fail in a savepoint.',
  },
  statement_bindings: {
    status: 500,
    message: 'The statement has {marks} question marks and {bindings} bindings.',
    hint: 'Bind a value for every `?`; write `\\?` for the character.',
  },
  schema_not_declared: {
    status: 500,
    message: 'Plugin {plugin} uses {name}, which is in none of its schemas.',
    hint: 'List the schema in permissions.schemas of plugin.json and name tables as `schema.table`.',
  },
  schema_reserved: {
    status: 500,
    message: 'The schema name {name} cannot be used by plugin {plugin}.',
    hint: 'Schema names are lower-case words joined by underscores; `mortise`, `public` and names that begin with `pg_` are taken.',
  },
  migration_invalid: {
    status: 500,
    message: 'The migrations of plugin {plugin} are not a strictly ascending list: {name}.',
    hint: 'Give every migration its own name, in the order of their application.',
  },
  migration_failed: {
    status: 500,
    message: 'Migration {name} of plugin {plugin} failed and was rolled back: {reason}.',
    hint: 'Correct what it names (rights, space, a table of the same name) and start the plugin again.',
  },
  schema_newer: {
    status: 500,
    message: 'The tables of plugin {plugin} were made by a later version: it applied {name}, unknown here.',
    hint: 'Run the later version of the plugin, or restore a backup made before it.',
  },
  notification_invalid: {
    status: 500,
    message: 'A notification needs a channel of at most 64 characters and a payload of at most 7,000 bytes.',
    hint: 'Send an id and let the listener read the rest.',
  },
} as const;

type DatabaseErrorCode = keyof typeof errors;

/** Makes the error of a row, with `{name}` in its sentence filled from `facts`. */
export function databaseError(
  code: DatabaseErrorCode,
  facts: Readonly<Record<string, string | number>> = {},
  cause?: unknown,
): MortiseError {
  const row = errors[code];
  const message = row.message.replace(/\{(\w+)\}/g, (all, name: string) => String(facts[name] ?? all));
  const options: MortiseErrorOptions = { status: row.status, hint: row.hint, retryable: row.status === 503 };
  return new MortiseError(code, message, cause === undefined ? options : { ...options, cause });
}

/** SQLSTATE of PostgreSQL, result codes of SQLite, errno names of sockets, and our own codes. */
const kinds: Readonly<Record<string, DatabaseErrorKind>> = {
  // PostgreSQL, https://www.postgresql.org/docs/current/errcodes-appendix.html
  '23505': 'unique',
  '23503': 'foreign-key',
  '40001': 'busy',
  '40P01': 'busy',
  '55P03': 'busy',
  '57014': 'timeout',
  '25P03': 'timeout',
  '53100': 'full',
  '53200': 'full',
  '53300': 'unavailable',
  '57P01': 'unavailable',
  '57P02': 'unavailable',
  '57P03': 'unavailable',
  '57P05': 'unavailable',
  '28000': 'unavailable',
  '28P01': 'unavailable',
  '3D000': 'unavailable',
  // SQLite, https://www.sqlite.org/rescode.html
  SQLITE_CONSTRAINT_UNIQUE: 'unique',
  SQLITE_CONSTRAINT_PRIMARYKEY: 'unique',
  SQLITE_CONSTRAINT_ROWID: 'unique',
  SQLITE_CONSTRAINT_FOREIGNKEY: 'foreign-key',
  SQLITE_FULL: 'full',
  SQLITE_NOMEM: 'full',
  SQLITE_CANTOPEN: 'unavailable',
  SQLITE_NOTADB: 'unavailable',
  SQLITE_CORRUPT: 'unavailable',
  SQLITE_READONLY: 'unavailable',
  // Sockets
  ECONNREFUSED: 'unavailable',
  ECONNRESET: 'unavailable',
  ENOTFOUND: 'unavailable',
  EAI_AGAIN: 'unavailable',
  ETIMEDOUT: 'unavailable',
  EHOSTUNREACH: 'unavailable',
  ENETUNREACH: 'unavailable',
  EPIPE: 'unavailable',
  // Our own
  database_unreachable: 'unavailable',
  database_refused: 'unavailable',
  database_unusable: 'unavailable',
  database_unavailable: 'unavailable',
  database_closed: 'unavailable',
  database_lost: 'unavailable',
  database_full: 'full',
};

/** Errors of the driver that carry no code. */
const lostConnection =
  /Connection terminated|connection is closed|Connection ended|timeout expired|not queryable|server closed the connection/i;

/** The class of an error of a database call, or of one of its causes. */
export function errorKind(error: unknown): DatabaseErrorKind {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 5; cause = cause.cause, depth += 1) {
    const code = (cause as { readonly code?: unknown }).code;
    if (typeof code === 'string') {
      const kind = kinds[code] ?? kindOfFamily(code);
      if (kind !== undefined) return kind;
    }
    if (lostConnection.test(cause.message)) return 'unavailable';
  }
  return 'other';
}

function kindOfFamily(code: string): DatabaseErrorKind | undefined {
  if (code.startsWith('SQLITE_BUSY') || code.startsWith('SQLITE_LOCKED')) return 'busy';
  if (code.startsWith('SQLITE_IOERR') || /^SQLITE_(CANTOPEN|CORRUPT|READONLY)_/.test(code)) return 'unavailable';
  if (/^08[0-9A-Z]{3}$/.test(code)) return 'unavailable';
  return undefined;
}

/**
 * Converts what the pool throws when it has no connection into one coded error. Its sentence reaches clients, which
 * must not see the database's address: it is only in the cause and in the log.
 */
export function connectionError(error: unknown): MortiseError {
  if (error instanceof MortiseError) return error;
  if (error instanceof Error && error.message === 'aborted') return databaseError('database_closed', {}, error);
  return databaseError('database_unavailable', {}, error);
}

/** A statement whose connection is gone fails as one that got none: its caller can only retry. */
export function statementError(error: unknown): unknown {
  return errorKind(error) === 'unavailable' ? connectionError(error) : error;
}

/** One line without SQL: the code of the driver, and its message if that contains no data. */
export function shortReason(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown cause';
  if (error instanceof MortiseError && error.cause instanceof Error) return shortReason(error.cause);
  const code = (error as { readonly code?: unknown }).code;
  const words = error.message.includes(' - ')
    ? error.message.slice(error.message.lastIndexOf(' - ') + 3)
    : error.message;
  const line = words.split('\n', 1)[0]?.slice(0, 200) ?? '';
  if (typeof code !== 'string' || line.includes(code)) return line === '' ? 'unknown cause' : line;
  return line === '' ? code : `${code}, ${line}`;
}

/** knex prints warnings on the console; every one of them also reaches the caller as an error, so they go to debug. */
export function knexLog(log: Logger): Knex.Logger {
  const debug = (message: unknown): void =>
    log.debug({ detail: shortReason(new Error(String(message))) }, 'Query builder');
  return { debug, warn: debug, error: debug, deprecate: debug };
}
