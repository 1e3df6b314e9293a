import type { Database, PluginDefinition } from 'mortise/sdk';
import { createTestHost, type TestEngine, type TestHost } from 'mortise/sdk/testing';
import { migrations } from '../migrations.js';

/** A database with the empty tables of the index. */
export interface IndexHost {
  readonly database: Database;
  stop(): Promise<void>;
}

/** @param dataDir data folder of another host, to share its database */
export async function startIndexHost({ env }: TestEngine, dataDir?: string): Promise<IndexHost> {
  let database: Database | undefined;
  const definition: PluginDefinition = {
    key: 'database-probe',
    register() {},
    async start(started) {
      database = started.use('database');
      await database.migrate(migrations);
    },
  };
  const manifest = { key: 'database-probe', permissions: { services: ['database'], schemas: ['logbook'] } };
  const host: TestHost = await createTestHost({
    plugins: [],
    database: env,
    extra: [{ manifest, definition }],
    ...(dataDir === undefined ? {} : { dataDir }),
  });
  if (database === undefined) throw new Error('The probe did not start.');
  return { database, stop: () => host.stop() };
}
