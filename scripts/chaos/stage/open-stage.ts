import { join } from 'node:path';
import { createTestDatabase } from 'mortise/sdk/testing';
import { openPostgres, openSqlite } from '../checker/open-database.js';
import type { DatabaseReader } from '../checker/read-database.js';
import type { DatabaseKind } from '../options.js';

/** The database of one run. */
export interface Stage {
  /** Environment that makes a server use it. */
  readonly env: Readonly<Record<string, string>>;
  /** Processes of the product that share it. */
  readonly slots: number;
  read(): Promise<DatabaseReader>;
  drop(): Promise<void>;
}

/** @param folder of each process; SQLite's file is in the data directory of its only process */
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
