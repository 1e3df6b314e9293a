import type { Migration } from 'mortise/sdk';

/** Questions to people. Times are epoch milliseconds by the database's clock, because replicas compare them. */
export const inputRequests: Migration = {
  name: '0001-input-requests',
  async up(schema) {
    await schema.createTable('agent.input_requests', (table, columns) => {
      table.string('request_id', 128).primary();
      table.string('turn_id', 64).notNullable();
      table.string('session_key', 1024).notNullable();
      table.string('session_id', 256).notNullable();
      table.string('user_id', 128).notNullable();
      table.string('channel', 64).notNullable();
      columns.json('questions').notNullable();
      table.string('state', 16).notNullable();
      columns.json('answers').nullable();
      columns.millis('created_at').notNullable();
      columns.millis('updated_at').notNullable();
      columns.millis('expires_at').notNullable();
      table.index(['state', 'expires_at']);
    });
  },
};
