import type { Migration } from 'mortise/sdk';

/** Previewed changes of the configuration. They survive a restart and can be applied on any replica. */
export const mutationTable: Migration = {
  name: '0001-mutations',
  async up(schema) {
    await schema.createTable('agent.mutations', (table, columns) => {
      table.string('id', 64).primary();
      table.string('target', 32).notNullable();
      // The resulting documents may contain secrets; null once they are no longer needed.
      table.text('payload_enc').nullable();
      columns.json('checks_json').notNullable();
      columns.json('summary_json').notNullable();
      table.string('confirm_hash', 64).notNullable();
      columns.flag('allow_sensitive', false).notNullable();
      table.string('state', 16).notNullable();
      columns.millis('expires_at').notNullable();
      table.string('principal', 128).notNullable();
      table.string('audit_id', 32).nullable();
      columns.time('created_at', { defaultNow: true }).notNullable();
      columns.time('updated_at', { defaultNow: true }).notNullable();
    });
    await schema.raw('create index agent_mutations_expiry on {agent.mutations} (expires_at)');
  },
};
