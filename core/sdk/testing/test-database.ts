import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSettings, PostgresAddress, PostgresSettings } from '../../database/settings.js';
import type { Dialect } from '../host/database.js';
import { type ControlConnection, controlConnection } from './control-connection.js';
import { startPostgres, type ThrowAwayPostgres } from './postgres.js';
import { runFolder } from './run-folder.js';

/** An empty database for tests. */
export interface TestDatabase {
  readonly dialect: Dialect;
  readonly settings: DatabaseSettings;
  /** Environment variables that make a host use it. Empty for SQLite, where each host has its own file. */
  readonly env: Readonly<Record<string, string>>;
  /** Removes all rows of all tables except the platform's own. */
  empty(): Promise<void>;
  drop(): Promise<void>;
}

// Tests never connect to the database that the developer's shell is configured for.
for (const name of Object.keys(process.env)) {
  if (name.startsWith('DATABASE_') || name === 'POSTGRES_DSN') delete process.env[name];
}

let folder: string | undefined;
let server: Promise<PostgresAddress> | undefined;
let count = 0;

/** An unused path in this run's folder, which is removed with the run. */
export function temporaryPath(name: string): string {
  folder ??= runFolder();
  count += 1;
  return join(folder, `${name}-${count}`);
}

/** A new folder, which is removed when the run ends. */
export function temporaryFolder(name: string): string {
  const path = temporaryPath(name);
  mkdirSync(path, { mode: 0o700 });
  return path;
}

/** The dialects to test on: both, or those in `TEST_DATABASE_ENGINES`. */
export function testDialects(environment: NodeJS.ProcessEnv = process.env): readonly Dialect[] {
  const listed = (environment.TEST_DATABASE_ENGINES || 'sqlite,postgres').split(',').map((name) => name.trim());
  const dialects = (['sqlite', 'postgres'] as const).filter((dialect) => listed.includes(dialect));
  if (dialects.length !== new Set(listed).size) {
    throw new Error(`TEST_DATABASE_ENGINES is "${listed.join(',')}": it may list sqlite and postgres.`);
  }
  return dialects;
}

/** Creates an empty database: a SQLite file, or a database on the run's PostgreSQL server. */
export async function createTestDatabase(dialect: Dialect): Promise<TestDatabase> {
  return dialect === 'sqlite' ? sqliteDatabase() : postgresDatabase(await postgresServer());
}

/** Starts a PostgreSQL server for a test that stops and restarts it. */
export function ownPostgres(): Promise<ThrowAwayPostgres> {
  return startPostgres(temporaryPath('server'));
}

async function sqliteDatabase(): Promise<TestDatabase> {
  const path = temporaryFolder('sqlite');
  const settings = { dialect: 'sqlite' as const, file: join(path, 'mortise_test.db') };
  let control: Promise<ControlConnection> | undefined;
  return {
    dialect: 'sqlite',
    settings,
    env: {},
    async empty() {
      control ??= controlConnection(settings);
      await (await control).empty();
    },
    async drop() {
      await (await control)?.close();
      rmSync(path, { recursive: true, force: true });
    },
  };
}

async function postgresDatabase(base: PostgresAddress): Promise<TestDatabase> {
  const server = await controlConnection(settingsOf(base));
  const name = await server.createDatabase(base.database).finally(() => server.close());
  const connection = { ...base, database: name };
  const settings = settingsOf(connection);
  let control: Promise<ControlConnection> | undefined;
  return {
    dialect: 'postgres',
    settings,
    env: {
      DATABASE_HOST: connection.host,
      DATABASE_PORT: String(connection.port),
      DATABASE_USER: connection.user,
      DATABASE_PASSWORD: connection.password,
      DATABASE_NAME: connection.database,
    },
    async empty() {
      control ??= controlConnection(settings);
      await (await control).empty();
    },
    async drop() {
      await (await control)?.close();
      const server = await controlConnection(settingsOf(base));
      await server.dropDatabase(name).finally(() => server.close());
    },
  };
}

function settingsOf(connection: PostgresAddress): PostgresSettings {
  return { dialect: 'postgres', connection };
}

/** The server in `TEST_DATABASE_HOST`, the run's server, or one of this process, started on first use. */
function postgresServer(): Promise<PostgresAddress> {
  server ??= externalServer() ?? sharedServer() ?? throwAwayServer();
  return server;
}

/** The server that the processes of one test run share: see shared-postgres.ts. */
function sharedServer(): Promise<PostgresAddress> | undefined {
  const port = Number(process.env.MORTISE_TEST_POSTGRES_PORT);
  return port > 0 ? Promise.resolve(throwAwayAddress(port)) : undefined;
}

function externalServer(): Promise<PostgresAddress> | undefined {
  const host = process.env.TEST_DATABASE_HOST?.trim();
  if (!host) return undefined;
  return Promise.resolve({
    host,
    port: Number(process.env.TEST_DATABASE_PORT || 5432),
    user: process.env.TEST_DATABASE_USER || 'postgres',
    password: process.env.TEST_DATABASE_PASSWORD ?? '',
    database: process.env.TEST_DATABASE_NAME || 'mortise_test',
  });
}

async function throwAwayServer(): Promise<PostgresAddress> {
  const { port } = await ownPostgres();
  return testServerAddress(port);
}

/** Returns the connection of a throw-away server's test database, created if missing. */
export async function testServerAddress(port: number): Promise<PostgresAddress> {
  const parts = throwAwayAddress(port);
  const server = await controlConnection(settingsOf({ ...parts, database: 'postgres' }), { guarded: false });
  await server.createNamedDatabase(parts.database).finally(() => server.close());
  return parts;
}

function throwAwayAddress(port: number): PostgresAddress {
  return { host: '127.0.0.1', port, user: 'postgres', password: '', database: 'mortise_test' };
}
