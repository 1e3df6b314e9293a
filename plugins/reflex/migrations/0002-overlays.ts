import type { Migration } from 'mortise/sdk';

/** Overrides that processes share or that survive a restart. */
export const overlaysTable: Migration = {
  name: '0002-overlays',
  async up(schema) {
    await schema.createTable('gate.overlays', (table, columns) => {
      table.string('layer', 8).notNullable();
      table.string('override_key', 32).notNullable();
      // Text, not jsonb: read back unchanged and never searched.
      table.text('value').notNullable();
      columns.millis('expires_at').nullable();
      table.text('reason').nullable();
      table.string('obs_id', 32).nullable();
      table.primary(['layer', 'override_key']);
    });
  },
};
