import pg from 'pg';
import type { DatabaseReader } from './read-database.js';

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
