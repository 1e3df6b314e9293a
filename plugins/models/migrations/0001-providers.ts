import type { Migration } from 'mortise/sdk';

/** Providers with their settings, and the settings that concern all of them. */
export const providerTables: Migration = {
  name: '0001-providers',
  async up(schema) {
    await schema.createTable('agent.providers', (table, columns) => {
      table.string('id', 64).primary();
      columns.json('settings_json', '{}').notNullable();
      table.text('api_key_enc').nullable();
      table.text('headers_enc').nullable();
      // A deleted provider of the catalogue keeps its row, which hides it.
      columns.flag('hidden', false).notNullable();
      columns.time('created_at', { defaultNow: true }).notNullable();
      columns.time('updated_at', { defaultNow: true }).notNullable();
    });
    await schema.createTable('agent.settings', (table, columns) => {
      table.string('key', 64).primary();
      columns.json('value_json').notNullable();
      columns.time('created_at', { defaultNow: true }).notNullable();
      columns.time('updated_at', { defaultNow: true }).notNullable();
    });
  },
};
