import type { Migration } from 'mortise/sdk';

/** The people and agents that may own what is written. */
export const identity: Migration = {
  name: '0001-identity',
  async up(schema) {
    await schema.createTable('identity.users', (table, columns) => {
      table.text('user_id').primary();
      table.text('display_name');
      columns.flag('is_active', true).notNullable();
      columns.json('roles_json', '{}').notNullable();
      columns.time('created_at', { defaultNow: true }).notNullable();
      columns.time('updated_at', { defaultNow: true }).notNullable();
    });
  },
};
