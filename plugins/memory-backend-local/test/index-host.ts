import type { Database } from 'mortise/sdk';
import { createTestHost, databaseProbe, type TestEngine, type TestHost } from 'mortise/sdk/testing';
import { migrations } from '../migrations/index.js';

/** A database with the tables of the index, and nobody who fills them. */
export interface IndexHost {
  readonly database: Database;
  stop(): Promise<void>;
}

/** @param dataDir that of another host, whose database this one shares */
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
