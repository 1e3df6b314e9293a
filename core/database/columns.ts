import type { Knex } from 'knex';
import type { MigrationColumns } from '../sdk/host/database.js';
import type { Engine } from './engine.js';

/** The column kinds that are one thing with two spellings, for one table under construction. */
export function migrationColumns(engine: Engine, table: Knex.CreateTableBuilder): MigrationColumns {
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
