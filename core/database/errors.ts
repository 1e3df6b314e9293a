import { MortiseError, type MortiseErrorOptions } from '../sdk/errors.js';

/** Every error that the database room itself raises: code, HTTP status, sentence and what to do. */
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
    hint: 'Try again; the pool reconnects by itself when the database is back.',
  },
  database_full: {
    status: 503,
    message: 'The database has no space left: what would have to be written is refused.',
    hint: 'Free space where the database lies; writing goes on by itself.',
  },
  database_closed: { status: 503, message: 'The database is closed.', hint: 'The process is shutting down.' },
  nested_query: {
    status: 500,
    message: 'A database call without { trx } was made inside an open transaction.',
    hint: 'Hand the open transaction on as { trx }, or do the work after the commit with afterCommit().',
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

export type DatabaseErrorCode = keyof typeof errors;

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
