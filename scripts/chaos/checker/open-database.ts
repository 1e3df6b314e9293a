import Database from 'better-sqlite3';
import pg from 'pg';
import type { DatabaseReader } from './read-database.js';

/** Opens a SQLite file for reading, while a server may be writing. */
export function openSqlite(file: string): DatabaseReader {
  const database = new Database(file, { readonly: true, timeout: 5_000 });
  return {
    dialect: 'sqlite',
    rows: async <Row>(sql: string) => database.prepare(sql).all() as Row[],
    async atOnce(run) {
      database.exec('begin');
      try {
        return await run();
      } finally {
        database.exec('commit');
      }
    },
    close: async () => database.close(),
  };
}

export interface PostgresPlace {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly database: string;
}

/** Opens a PostgreSQL database to read it. */
export async function openPostgres(place: PostgresPlace): Promise<DatabaseReader> {
  const client = new pg.Client({ ...place });
  await client.connect();
  return {
    dialect: 'postgres',
    rows: async <Row>(sql: string) => (await client.query(sql)).rows as Row[],
    async atOnce(run) {
      await client.query('begin isolation level repeatable read read only');
      try {
        return await run();
      } finally {
        await client.query('commit');
      }
    },
    close: () => client.end(),
  };
}
