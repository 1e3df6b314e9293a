import type { Migration } from 'mortise/sdk';

/** The definition of each tool that was accepted, and the one that its server offers now. */
export const mcpTools: Migration = {
  name: '0001-mcp-tools',
  async up(schema) {
    await schema.createTable('agent.mcp_tools', (table, columns) => {
      table.string('server', 32).notNullable();
      table.string('tool', 256).notNullable();
      table.string('accepted_sha256', 64).notNullable();
      table.string('offered_sha256', 64).notNullable();
      columns.json('offered').notNullable();
      columns.time('created_at').notNullable();
      columns.time('updated_at').notNullable();
      table.primary(['server', 'tool']);
    });
  },
};
