import { setTimeout as delay } from 'node:timers/promises';
import type { Knex } from 'knex';
import { MortiseError } from '../sdk/errors.js';
import type { Migration, MigrationColumns, MigrationSchema, Transaction } from '../sdk/host/database.js';
import type { Engine } from './engine.js';
import { databaseError, errorKind, shortReason } from './errors.js';
import { hostSchema, type Names, tableNames } from './names.js';
import { presentTables, RecordedTables } from './recorded-tables.js';
import type { Session } from './transaction.js';

/** The column types that differ between the dialects, for one table under construction. */
function migrationColumns(engine: Engine, table: Knex.CreateTableBuilder): MigrationColumns {
  const postgres = engine.dialect === 'postgres';
  return {
    id: (name) => table.bigIncrements(name),
    time(name, options = {}) {
      // Three decimals, as the codec has: a stored time compares equal to what was read from it.
      const column = table.specificType(name, postgres ? 'timestamptz(3)' : 'text');
      return options.defaultNow === true
        ? column.notNullable().defaultTo(engine.knex.raw(`(${engine.now.time})`))
        : column;
    },
    json(name, empty) {
      // SQLite would turn JSON numbers in a column of the declared type `json` into its own numbers.
      const column = table.specificType(name, postgres ? 'jsonb' : 'text');
      return empty === undefined ? column : column.notNullable().defaultTo(empty);
    },
    millis: (name) => table.bigInteger(name),
    flag: (name, initial) => table.boolean(name).notNullable().defaultTo(initial),
  };
}

/** Tables of the platform itself: running instances and leases. */
export const hostMigrations: readonly Migration[] = [
  {
    name: '0001-instances-and-leases',
    async up(schema) {
      await schema.createTable('mortise.instances', (table, columns) => {
        table.string('id', 64).primary();
        table.string('host', 255).notNullable();
        table.integer('pid').notNullable();
        columns.time('started_at', { defaultNow: true });
        columns.millis('heartbeat_at').notNullable();
      });
      await schema.createTable('mortise.leases', (table, columns) => {
        table.string('name', 255).primary();
        table.string('holder', 128);
        columns.millis('epoch').notNullable();
        columns.millis('expires_at');
      });
    },
  },
];

/** How long a process waits while another one migrates. */
const lockTimeoutMs = 120_000;

/** An arbitrary, unique number: all migrations of one database exclude each other. */
const lockNumber = 7_245_891_003;

/**
 * Applies the migrations of a plugin that the database does not have yet: all of them in one transaction, under a
 * lock across all processes, so that two that start together apply each once and a failure changes nothing.
 *
 * @throws MortiseError `migration_invalid`, `migration_failed`, `schema_newer`
 */
export async function migrate(
  engine: Engine,
  session: Session,
  plugin: string,
  names: Names,
  migrations: readonly Migration[],
): Promise<void> {
  migrations.forEach((migration, index) => {
    const previous = migrations[index - 1];
    if (previous !== undefined && previous.name >= migration.name) {
      throw databaseError('migration_invalid', { plugin, name: migration.name });
    }
  });
  const records = tableNames(hostSchema, engine.dialect, [hostSchema]).table(`${hostSchema}.migrations`);

  const missing = async (trx?: Transaction): Promise<readonly Migration[]> => {
    const { rows } = await session.statement<{ name: string }>(
      `select name from ${records} where plugin = ? order by name`,
      [plugin],
      trx,
    );
    const applied = new Set(rows.map((row) => row.name));
    const known = new Set(migrations.map((migration) => migration.name));
    const newer = rows.find((row) => !known.has(row.name));
    if (newer !== undefined) throw databaseError('schema_newer', { plugin, name: newer.name });
    return migrations.filter((migration) => !applied.has(migration.name));
  };

  const tables = new RecordedTables(engine.dialect, session, plugin, names);
  if ((await missing()).length === 0) return tables.adopt();
  await locked(engine, session, plugin, async (trx) => {
    for (const schema of names.schemas) await createSchema(engine, trx, names.physicalSchema(schema));
    await tables.during(trx, async () => {
      for (const migration of await missing(trx)) {
        try {
          await migration.up(migrationSchema(engine, trx, names));
        } catch (error) {
          throw databaseError('migration_failed', { plugin, name: migration.name, reason: shortReason(error) }, error);
        }
        await session.statement(`insert into ${records} (plugin, name) values (?, ?)`, [plugin, migration.name], trx);
      }
    });
  });
}

/** Creates the tables that record migrations and their tables: no migration can create these. */
export async function prepareMigrations(engine: Engine, session: Session): Promise<void> {
  const { table } = tableNames(hostSchema, engine.dialect, [hostSchema]);
  const migrations = table(`${hostSchema}.migrations`);
  const tables = table(`${hostSchema}.tables`);
  const { rows } = await session.statement(
    `select name from (${presentTables[engine.dialect]}) as present where name in (?, ?)`,
    [migrations, tables],
    undefined,
  );
  if (rows.length === 2) return;
  await locked(engine, session, hostSchema, async (trx) => {
    await createSchema(engine, trx, hostSchema);
    const time = engine.dialect === 'postgres' ? 'timestamptz(3)' : 'text';
    await trx.raw(
      `create table if not exists ${migrations} (plugin text not null, name text not null,
        applied_at ${time} not null default (${engine.now.time}), primary key (plugin, name))`,
    );
    await trx.raw(`create table if not exists ${tables} (name text primary key, plugin text not null)`);
  });
}

/** A transaction that only one process can run at a time. */
async function locked(
  engine: Engine,
  session: Session,
  plugin: string,
  run: (trx: Transaction) => Promise<void>,
): Promise<void> {
  const deadline = performance.now() + lockTimeoutMs;
  for (;;) {
    let began = false;
    try {
      await session.transaction(
        async (trx) => {
          if (engine.dialect === 'postgres') {
            await trx.raw(`set local lock_timeout = ${lockTimeoutMs}`);
            await trx.raw('set local statement_timeout = 0');
            await trx.raw('set local idle_in_transaction_session_timeout = 0');
            await trx.raw(`select pg_advisory_xact_lock(${lockNumber})`);
          }
          began = true;
          await run(trx);
        },
        { plugin },
      );
      return;
    } catch (error) {
      // On SQLite the write lock is the lock, and another process may migrate for longer than a write waits.
      const waiting = !began && !(error instanceof MortiseError) && errorKind(error) === 'busy';
      if (!waiting || performance.now() > deadline) throw error;
      await delay(50);
    }
  }
}

/** `create schema if not exists` needs the right to create even if the schema exists. */
async function createSchema(engine: Engine, trx: Transaction, schema: string): Promise<void> {
  if (engine.dialect !== 'postgres') return;
  const found = await trx.select('nspname').from('pg_namespace').where({ nspname: schema });
  if (found.length === 0) await trx.raw('create schema ??', [schema]);
}

function migrationSchema(engine: Engine, trx: Transaction, names: Names): MigrationSchema {
  // knex makes names of keys and indexes from the table's: with the schema in it they would be invalid.
  const place = (name: string): readonly [Knex.SchemaBuilder, string] => {
    const [first = '', second] = names.table(name).split('.');
    return second === undefined ? [trx.schema, first] : [trx.schema.withSchema(first), second];
  };
  return {
    dialect: engine.dialect,
    knex: trx,
    table: names.table,
    async createTable(name, build) {
      const [builder, bare] = place(name);
      await builder.createTable(bare, (table) => build(table, migrationColumns(engine, table)));
    },
    async alterTable(name, build) {
      const [builder, bare] = place(name);
      await builder.alterTable(bare, (table) => build(table, migrationColumns(engine, table)));
    },
    async raw(sql) {
      const text = typeof sql === 'string' ? sql : sql[engine.dialect];
      // Question marks in DDL are literal: nothing is bound.
      if (text !== undefined) await trx.raw(names.expand(text).replaceAll('?', '\\?'));
    },
  };
}
