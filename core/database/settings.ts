/** PostgreSQL, or an embedded SQLite file. */
export type DatabaseSettings = SqliteSettings | PostgresSettings;

export interface SqliteSettings {
  readonly dialect: 'sqlite';
  /** Path of the database file; it and its folder are created when missing. */
  readonly file: string;
  /** How long a write waits for another process that writes; 5,000 ms when absent. */
  readonly busyTimeoutMs?: number;
}

export interface PostgresSettings {
  readonly dialect: 'postgres';
  /** `postgres://user:password@host:5432/name`, or its parts. */
  readonly connection: string | PostgresAddress;
  /** Physical name of the logical schema `realtime`: the only one that a deployment may rename (`DATABASE_SCHEMA`). */
  readonly schema?: string;
  /** Maximum connections of this process; 10 when absent. */
  readonly poolMax?: number;
  /** How long a caller waits for a free connection; 10,000 ms when absent. */
  readonly acquireTimeoutMs?: number;
  /** How long opening a connection may take; 2,000 ms when absent. */
  readonly connectTimeoutMs?: number;
  /** How long the server may leave a query unanswered before it is probed on a new connection; 5,000 ms when absent. */
  readonly answerTimeoutMs?: number;
}

export interface PostgresAddress {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly database: string;
}

/** Physical schema names that differ from the logical ones. SQLite has one name space and keeps the logical names. */
export function renamedSchemas(settings: DatabaseSettings): Readonly<Record<string, string>> {
  return settings.dialect === 'postgres' && settings.schema !== undefined ? { realtime: settings.schema } : {};
}

/** Names the database for people: host, port and name, without user or password. */
export function publicTarget({ connection }: PostgresSettings): string {
  if (typeof connection !== 'string') return `${connection.host}:${connection.port}/${connection.database}`;
  try {
    const { hostname, port, pathname } = new URL(connection);
    return `${hostname || 'localhost'}:${port || '5432'}${pathname}`;
  } catch {
    return 'of DATABASE_URL';
  }
}
