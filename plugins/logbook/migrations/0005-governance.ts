import type { Migration, MigrationSchema } from 'mortise/sdk';
import { evidenceForm, policyMode } from '../audit/json-facts.js';

async function createSettings(schema: MigrationSchema): Promise<void> {
  await schema.createTable('governance.settings', (table, columns) => {
    table.text('project_key').primary();
    columns.flag('team_write_enabled', false).notNullable();
    columns.json('policy_json', '{}').notNullable();
    table.integer('version').notNullable().defaultTo(1);
    table.text('updated_by');
    columns.time('updated_at', { defaultNow: true }).notNullable();
  });
}

async function createAudit(schema: MigrationSchema): Promise<void> {
  await schema.createTable('governance.write_audit', (table, columns) => {
    columns.id('audit_id');
    columns.time('created_at', { defaultNow: true }).notNullable();
    columns.time('ts', { defaultNow: true }).notNullable();
    table.text('actor_user_id');
    table.text('target_space');
    table.text('action');
    table.text('reason');
    table.text('payload_sha');
    columns.json('evidence_refs_json', '{}').notNullable();
    table.text('correlation_id');
    table.text('status').notNullable().defaultTo('success');
    columns.time('updated_at', { defaultNow: true }).notNullable();
    table.text('operation');
    table.text('memory_key');
    table.text('principal');
    table.text('writer_id');
  });
}

async function indexAudit(schema: MigrationSchema): Promise<void> {
  await schema.raw('create index governance_audit_correlation on {governance.write_audit} (correlation_id)');
  await schema.raw('create index governance_audit_created on {governance.write_audit} (created_at)');
  // Reason first for look-ups; action and status make the report's totals a walk over this index alone.
  await schema.raw('create index governance_audit_reason on {governance.write_audit} (reason, action, status)');
  await schema.raw(
    `create index governance_audit_pending on {governance.write_audit} (status) where status = 'pending'`,
  );
  await schema.raw({
    sqlite: `create index governance_audit_outbox on {governance.write_audit} (cast(evidence_refs_json->>'outbox_id' as text))`,
    postgres: `create index governance_audit_outbox on {governance.write_audit} ((evidence_refs_json->>'outbox_id'))`,
  });
  // So that the report need not read the JSON of every row.
  await schema.raw(
    `create index governance_audit_evidence on {governance.write_audit}
     ((${evidenceForm(schema.dialect)}), (${policyMode(schema.dialect)}), created_at)`,
  );
}

async function createChain(schema: MigrationSchema): Promise<void> {
  await schema.createTable('governance.audit_chain', (table, columns) => {
    table.text('writer_id').notNullable();
    table.bigInteger('seq').notNullable();
    table.bigInteger('audit_id').notNullable();
    table.text('phase').notNullable().defaultTo('insert');
    table.text('row_sha').notNullable();
    table.text('chain_sha').notNullable();
    columns.time('created_at', { defaultNow: true }).notNullable();
    table.primary(['writer_id', 'seq']);
  });
  await schema.raw('create index governance_chain_audit on {governance.audit_chain} (audit_id)');
}

/** Policy, the audit trail, and the hash chain that shows when it was altered. */
export const governance: Migration = {
  name: '0005-governance',
  async up(schema) {
    await createSettings(schema);
    await createAudit(schema);
    await indexAudit(schema);
    await createChain(schema);
  },
};
