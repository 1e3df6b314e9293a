import type { DatabaseErrorKind } from '../sdk/host/database.js';

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
  database_full: 'full',
};

/** Errors of the driver that carry no code. */
const lostConnection =
  /Connection terminated|connection is closed|Connection ended|timeout expired|not queryable|server closed the connection/i;

/** The class of an error that came out of a database call, looking through `cause` as well. */
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
