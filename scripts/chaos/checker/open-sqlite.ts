import Database from 'better-sqlite3';
import type { DatabaseReader } from './read-database.js';

/** Opens a SQLite file to read it, beside a server that may be writing. */
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
