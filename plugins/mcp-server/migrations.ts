import type { Migration } from 'mortise/sdk';

/** Tables of the endpoint, shared by all replicas. */
export const migrations: readonly Migration[] = [
  {
    name: '0001-mcp',
    async up(schema) {
      await schema.createTable('logbook.mcp_sessions', (t, columns) => {
        t.string('id', 64).primary();
        t.string('principal', 256).notNullable();
        t.string('protocol_version', 16).notNullable();
        columns.json('client_info', '{}').notNullable();
        columns.json('capabilities', '{}').notNullable();
        t.string('log_level', 16);
        columns.json('subscriptions', '[]').notNullable();
        columns.millis('created_at').notNullable();
        columns.millis('expires_at').notNullable();
      });
      await schema.raw('create index mcp_sessions_expires_at on {logbook.mcp_sessions} (expires_at)');
      await schema.createTable('logbook.mcp_tasks', (t, columns) => {
        t.string('id', 64).primary();
        t.string('principal', 256).notNullable();
        t.string('tool', 128).notNullable();
        t.string('status', 16).notNullable();
        t.text('status_message');
        t.text('result_text');
        t.text('error_text');
        columns.json('input_requests', '{}').notNullable();
        columns.json('input_responses', '{}').notNullable();
        columns.flag('cancel_requested', false).notNullable();
        t.string('owner', 64).notNullable();
        t.string('correlation_id', 64).notNullable();
        columns.millis('created_at').notNullable();
        columns.millis('updated_at').notNullable();
        columns.millis('expires_at').notNullable();
      });
      await schema.raw('create index mcp_tasks_expires_at on {logbook.mcp_tasks} (expires_at)');
      await schema.createTable('logbook.mcp_keys', (t, columns) => {
        t.string('id', 32).primary();
        t.string('secret', 128).notNullable();
        columns.millis('created_at').notNullable();
      });
    },
  },
  {
    name: '0002-left-answers',
    async up(schema) {
      await schema.createTable('logbook.mcp_answers', (t, columns) => {
        t.string('session_id', 64).notNullable();
        t.string('request_id', 64).notNullable();
        t.text('body').notNullable();
        columns.millis('created_at').notNullable();
        t.primary(['session_id', 'request_id']);
      });
      await schema.raw('create index mcp_answers_created_at on {logbook.mcp_answers} (created_at)');
    },
  },
];
