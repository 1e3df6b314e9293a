import type { Database } from 'mortise/sdk';
import { createTestHost, databaseProbe, type TestEngine, type TestHost } from 'mortise/sdk/testing';
import { migrations } from '../migrations.js';

/** A database with the empty tables of the index. */
export interface IndexHost {
  readonly database: Database;
  stop(): Promise<void>;
}

/** @param dataDir data folder of another host, to share its database */
export async function startIndexHost({ env }: TestEngine, dataDir?: string): Promise<IndexHost> {
  const probe = databaseProbe(['logbook'], (database) => database.migrate(migrations));
  const host: TestHost = await createTestHost({
    plugins: [],
    database: env,
    extra: [probe.plugin],
    ...(dataDir === undefined ? {} : { dataDir }),
  });
  return { database: probe.database, stop: () => host.stop() };
}
