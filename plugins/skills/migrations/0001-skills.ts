import type { Migration } from 'mortise/sdk';

/** One row per skill; its folder is written from the row. */
export const skillTable: Migration = {
  name: '0001-skills',
  async up(schema) {
    await schema.createTable('agent.skills', (table, columns) => {
      table.string('name', 64).primary();
      table.text('content').notNullable();
      columns.json('references_json', '{}').notNullable();
      columns.json('scripts_json', '{}').notNullable();
      columns.flag('enabled', true).notNullable();
      columns.time('created_at', { defaultNow: true }).notNullable();
      columns.time('updated_at', { defaultNow: true }).notNullable();
    });
  },
};
