import { join } from 'node:path';
import { createTestDatabase } from 'mortise/sdk/testing';
import { openPostgres } from '../checker/open-postgres.js';
import { openSqlite } from '../checker/open-sqlite.js';
import type { DatabaseReader } from '../checker/read-database.js';
import type { DatabaseKind } from '../options.js';

/** A database that is there for one run. */
export interface Stage {
  /** Environment that makes a server use it. */
  readonly env: Readonly<Record<string, string>>;
  /** Processes of the product that share it. */
  readonly slots: number;
  read(): Promise<DatabaseReader>;
  drop(): Promise<void>;
}

/** @param folder of the run: SQLite's file lies in the data directory of its one process. */
export async function openStage(kind: DatabaseKind, folder: (slot: number) => string): Promise<Stage> {
  if (kind === 'sqlite') {
    const file = join(folder(0), 'data', 'mortise.db');
    return { env: {}, slots: 1, read: async () => openSqlite(file), drop: async () => {} };
  }
  const { env, drop } = await createTestDatabase('postgres');
  const place = {
    host: env.DATABASE_HOST ?? '',
    port: Number(env.DATABASE_PORT),
    user: env.DATABASE_USER ?? '',
    password: env.DATABASE_PASSWORD ?? '',
    database: env.DATABASE_NAME ?? '',
  };
  return { env, slots: 2, read: () => openPostgres(place), drop };
}
