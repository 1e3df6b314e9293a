import type { Migration } from 'mortise/sdk';

/** What is known of live sessions, where it is to outlive the process. */
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
