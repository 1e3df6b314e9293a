import Database from 'better-sqlite3';
import pg from 'pg';
import { openPostgres, openSqlite, type PostgresPlace } from '../open-database.js';
import { type DatabaseReader, table } from '../read-database.js';

/** A database that a test may damage and restore. */
export interface Damageable {
  read(): Promise<DatabaseReader>;
  /** Runs a statement, in which `{schema.table}` names a table of the product. */
  damage(sql: string): Promise<void>;
  /** Restores the rows that it had when it was opened. */
  restore(): Promise<void>;
}

type Run = (sql: string) => Promise<unknown>;

const tables = [
  ['logbook', 'outbox_memory'],
  ['logbook', 'memories'],
  ['governance', 'write_audit'],
  ['governance', 'audit_chain'],
  ['governance', 'audit_heads'],
  ['identity', 'users'],
] as const;

async function damageable(reader: () => Promise<DatabaseReader>, run: Run): Promise<Damageable> {
  const one = await reader();
  const named = (sql: string) =>
    sql.replace(/\{(\w+)\.(\w+)\}/g, (_, schema: string, name: string) => table(one, schema, name));
  await one.close();
  for (const [schema, name] of tables)
    await run(named(`create table kept_${name} as select * from {${schema}.${name}}`));
  return {
    read: reader,
    damage: async (sql: string) => void (await run(named(sql))),
    async restore() {
      for (const [schema, name] of tables) {
        await run(named(`delete from {${schema}.${name}}`));
        await run(named(`insert into {${schema}.${name}} select * from kept_${name}`));
      }
    },
  };
}

export function damageSqlite(file: string): Promise<Damageable> {
  return damageable(
    async () => openSqlite(file),
    async (sql) => {
      const database = new Database(file);
      database.exec(sql);
      database.close();
    },
  );
}

export function damagePostgres(place: PostgresPlace): Promise<Damageable> {
  return damageable(
    () => openPostgres(place),
    async (sql) => {
      const client = new pg.Client({ ...place });
      await client.connect();
      await client.query(sql).finally(() => client.end());
    },
  );
}
