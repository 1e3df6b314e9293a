import { type DatabaseHost, type OpenOptions, openDatabase } from '../../database/open-database.js';
import type { DatabaseSettings } from '../../database/settings.js';
import type { Logger } from '../context.js';
import type { Database, Dialect } from '../host/database.js';
import { silentLog } from './silent-log.js';
import { createTestDatabase, type TestDatabase, testDialects } from './test-database.js';

/** A database that a block of tests runs on: created for the block, emptied after each test. */
export interface TestEngine {
  readonly dialect: Dialect;
  /** Settings for a child process or a whole test host. Only inside hooks and tests. */
  readonly settings: DatabaseSettings;
  /** For a test host: `createTestHost({ database: engine.env })`. Empty for SQLite, where each host has its own file. */
  readonly env: Readonly<Record<string, string>>;
  /** Opens the database as a plugin sees it, through one host for the whole block. */
  open(plugin: string, schemas: readonly string[]): Promise<Database>;
  /** Opens another host, like a second process; closed after the test. */
  openHost(options?: OpenOptions & { readonly log?: Logger }): Promise<DatabaseHost>;
  /** Removes all rows. */
  empty(): Promise<void>;
}

/** `keepRows`: rows are kept between the tests of the block. */
interface BlockOptions {
  readonly keepRows?: boolean;
}

const titles: Readonly<Record<Dialect, string>> = { sqlite: 'on SQLite', postgres: 'on PostgreSQL' };

/**
 * Defines the same tests once per dialect.
 *
 * @example
 * eachDatabase((engine) => {
 *   it('reads back what it stored', async () => {
 *     const database = await engine.open('sessions', ['realtime']);
 *     await database.migrate(migrations);
 *   });
 * });
 */
export function eachDatabase(run: (engine: TestEngine) => void, options: BlockOptions = {}): void {
  for (const dialect of testDialects()) describeOn(dialect, run, options);
}

/**
 * Defines tests that do not depend on the dialect, such as those of a protocol or of the command line, only on
 * SQLite (or on the first of `TEST_DATABASE_ENGINES`).
 */
export function oneDatabase(run: (engine: TestEngine) => void, options: BlockOptions = {}): void {
  for (const dialect of testDialects().slice(0, 1)) describeOn(dialect, run, options);
}

function describeOn(dialect: Dialect, run: (engine: TestEngine) => void, options: BlockOptions): void {
  describe(titles[dialect], () => {
    let database: TestDatabase | undefined;
    let shared: Promise<DatabaseHost> | undefined;
    const hosts: DatabaseHost[] = [];
    const current = (): TestDatabase => {
      if (database === undefined) throw new Error('The test database exists only inside hooks and tests.');
      return database;
    };

    before(async function start() {
      // The first block of a run also starts the server.
      this.timeout(60_000);
      database = await createTestDatabase(dialect);
    });

    run({
      dialect,
      get settings() {
        return current().settings;
      },
      get env() {
        return current().env;
      },
      async open(plugin, schemas) {
        shared ??= openDatabase(current().settings, silentLog);
        return (await shared).forPlugin(plugin, schemas);
      },
      async openHost({ log = silentLog, ...rest } = {}) {
        const host = await openDatabase(current().settings, log, rest);
        hosts.push(host);
        return host;
      },
      empty: () => current().empty(),
    });

    // Runs after the block's own hooks, which stop what they started, so that nothing writes while rows are removed.
    afterEach(async function clean() {
      this.timeout(20_000);
      await Promise.all(hosts.splice(0).map((host) => host.close()));
      if (options.keepRows !== true) await database?.empty();
    });

    after(async function stop() {
      this.timeout(20_000);
      await (await shared?.catch(() => undefined))?.close();
      await database?.drop();
    });
  });
}
