import type { Migration } from 'mortise/sdk';

/** Sub-agents of the sessions that started them, and the inputs that wait for them. Times are epoch milliseconds. */
export const subAgentTables: Migration = {
  name: '0001-subagents',
  async up(schema) {
    await schema.createTable('agent.subagents', (table, columns) => {
      table.string('parent_key', 512).notNullable();
      table.string('agent_id', 64).notNullable();
      table.string('session_key', 1024).notNullable();
      table.string('session_id', 256).notNullable();
      table.string('user_id', 128).notNullable();
      table.string('channel', 64).notNullable();
      table.string('prompt_mode', 32).notNullable();
      table.string('collaboration_mode', 64).nullable();
      table.integer('depth').notNullable();
      table.string('status', 16).notNullable();
      table.string('owner_instance', 128).nullable();
      table.text('current_input').nullable();
      table.text('last_reply').nullable();
      table.text('last_error').nullable();
      columns.millis('created_at').notNullable();
      columns.millis('updated_at').notNullable();
      columns.millis('last_completed_at').nullable();
      table.primary(['parent_key', 'agent_id']);
      table.index(['session_key']);
      table.index(['status']);
    });
    await schema.createTable('agent.subagent_inputs', (table, columns) => {
      columns.id('id');
      table.string('parent_key', 512).notNullable();
      table.string('agent_id', 64).notNullable();
      table.text('text').notNullable();
      columns.millis('created_at').notNullable();
      table.index(['parent_key', 'agent_id', 'id']);
    });
  },
};
