import type { Migration } from 'mortise/sdk';

/** Who requested which change of the gate, with what result. Append-only. */
export const controlAuditTable: Migration = {
  name: '0001-control-audit',
  async up(schema) {
    await schema.createTable('gate.control_audit', (table, columns) => {
      columns.id('id');
      columns.millis('at').notNullable();
      table.string('action', 16).notNullable();
      table.string('actor', 256).nullable();
      table.string('origin_session_key', 1024).nullable();
      table.string('override_key', 128).nullable();
      // Text, not jsonb: shown unchanged and never searched.
      table.text('old_value').nullable();
      table.text('new_value').nullable();
      columns.flag('accepted', false).notNullable();
      table.text('reason').nullable();
      table.integer('ttl_sec').nullable();
      columns.millis('expires_at').nullable();
      table.string('obs_id', 32).nullable();
      table.string('trace_id', 32).nullable();
      table.string('correlation_id', 64).nullable();
    });
    await schema.raw('create index gate_control_audit_by_time on {gate.control_audit} (at)');
    await schema.raw('create index gate_control_audit_by_key on {gate.control_audit} (override_key, at)');
  },
};
