import type { Migration } from 'mortise/sdk';

/** The pools, with `persistence: "sql"`. */
export const poolEntriesTable: Migration = {
  name: '0001-pool-entries',
  async up(schema) {
    await schema.createTable('gate.pool_entries', (table, columns) => {
      table.string('obs_id', 32).notNullable().primary();
      table.string('pool', 8).notNullable();
      table.text('session_key').notNullable();
      // Text, not jsonb: read back unchanged and never searched.
      table.text('decision').notNullable();
      table.text('observation').notNullable();
      columns.millis('at').notNullable();
      // Order within one millisecond.
      table.bigInteger('position').notNullable();
      columns.millis('released_at').nullable();
    });
    await schema.raw('create index gate_pool_entries_by_time on {gate.pool_entries} (pool, at)');
  },
};
