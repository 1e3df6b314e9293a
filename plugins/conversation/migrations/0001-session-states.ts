import type { Migration } from 'mortise/sdk';

/** Counters and times of sessions, with `persistence: "sql"`. */
export const sessionStatesTable: Migration = {
  name: '0001-session-states',
  async up(schema) {
    await schema.createTable('gate.session_states', (table, columns) => {
      table.text('session_key').notNullable().primary();
      columns.millis('created_at').notNullable();
      columns.millis('last_active_at').nullable();
      columns.millis('processed_total').notNullable();
      columns.millis('error_total').notNullable();
    });
  },
};
