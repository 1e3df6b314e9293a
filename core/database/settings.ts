import type { SqliteSettings } from './sqlite.js';

/** PostgreSQL by address, by its parts, or an embedded SQLite file. */
export type DatabaseSettings = PostgresUrlSettings | PostgresPartSettings | SqliteSettings;

export interface PostgresOptions {
  /** Most connections of this process; 10 when absent. */
  readonly poolSize?: number;
  /** How long a caller waits for a free connection; 10,000 ms when absent. */
  readonly acquireTimeoutMs?: number;
  /** How long opening a connection may take; 2,000 ms when absent. */
  readonly connectTimeoutMs?: number;
  /** Physical schema names that differ from the logical ones, e.g. `{ realtime: 'team_a' }`. */
  readonly schemas?: Readonly<Record<string, string>>;
}

export interface PostgresUrlSettings extends PostgresOptions {
  /** `postgres://user:password@host:5432/name` */
  readonly url: string;
}

export interface PostgresPartSettings extends PostgresOptions {
  readonly host: string;
  readonly port?: number;
  readonly user?: string;
  readonly password?: string;
  readonly name: string;
}

export interface PostgresAddress extends PostgresOptions {
  readonly connection:
    | { readonly connectionString: string }
    | {
        readonly host: string;
        readonly port: number;
        readonly user: string;
        readonly password: string;
        readonly database: string;
      };
  /** Host, port and name, without user or password. */
  readonly target: string;
}

/** What to connect to; `target` names it for people. */
export function postgresAddress(settings: PostgresUrlSettings | PostgresPartSettings): PostgresAddress {
  if ('url' in settings) {
    return { ...settings, connection: { connectionString: settings.url }, target: publicTarget(settings.url) };
  }
  const { host, port = 5432, user = 'postgres', password = '', name } = settings;
  return { ...settings, connection: { host, port, user, password, database: name }, target: `${host}:${port}/${name}` };
}

function publicTarget(url: string): string {
  try {
    const { hostname, port, pathname } = new URL(url);
    return `${hostname || 'localhost'}:${port || '5432'}${pathname}`;
  } catch {
    return 'of DATABASE_URL';
  }
}
