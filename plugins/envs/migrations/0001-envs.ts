import type { Migration } from 'mortise/sdk';

/** One row per variable; the value is encrypted when the host has a secret key. */
export const envTable: Migration = {
  name: '0001-envs',
  async up(schema) {
    await schema.createTable('agent.envs', (table, columns) => {
      table.string('key', 255).primary();
      table.text('value_enc').notNullable();
      columns.time('created_at', { defaultNow: true }).notNullable();
      columns.time('updated_at', { defaultNow: true }).notNullable();
    });
  },
};
