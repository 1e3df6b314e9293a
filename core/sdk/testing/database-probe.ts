import type { Database } from '../host/database.js';
import type { SchemasService } from '../index.js';
import type { TestPlugin } from './create-test-host.js';

/** A plugin that gives a test direct access to its host's database and schema compiler. */
export interface DatabaseProbe {
  /** For `extra` of `createTestHost`. */
  readonly plugin: TestPlugin;
  /** @throws Error before the host has started */
  readonly database: Database;
  /** @throws Error before the host has started */
  readonly compiler: SchemasService;
}

/**
 * @param schemas logical schemas whose tables the test reads or writes
 * @param prepare runs while the plugin starts, for example to migrate tables
 * @example
 * const probe = databaseProbe(['logbook']);
 * const host = await createTestHost({ plugins: ['logbook'], extra: [probe.plugin] });
 * await probe.database.statement('select 1');
 */
export function databaseProbe(
  schemas: readonly string[],
  prepare?: (database: Database) => Promise<unknown>,
): DatabaseProbe {
  let database: Database | undefined;
  let compiler: SchemasService | undefined;
  const started = <T>(service: T | undefined): T => {
    if (service === undefined) throw new Error('The database probe has not started.');
    return service;
  };
  return {
    plugin: {
      isShipped: true,
      manifest: { key: 'database-probe', permissions: { services: ['database', 'schemas'], schemas: [...schemas] } },
      definition: {
        key: 'database-probe',
        register() {},
        async start(host) {
          database = host.use('database');
          compiler = host.use('schemas');
          await prepare?.(database);
        },
      },
    },
    get database() {
      return started(database);
    },
    get compiler() {
      return started(compiler);
    },
  };
}
