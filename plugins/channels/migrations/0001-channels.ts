import type { Migration } from 'mortise/sdk';

/** One row per configured channel. Secret members are empty in `config_json` and encrypted in `secrets_enc`. */
export const channelTable: Migration = {
  name: '0001-channels',
  async up(schema) {
    await schema.createTable('agent.channels', (table, columns) => {
      table.string('name', 64).primary();
      columns.json('config_json', '{}').notNullable();
      table.text('secrets_enc');
      columns.time('created_at', { defaultNow: true }).notNullable();
      columns.time('updated_at', { defaultNow: true }).notNullable();
    });
  },
};
