import type { Migration } from 'mortise/sdk';

/** For whom a memory waits in the outbox: unknown for rows from before. */
export const outboxPrincipal: Migration = {
  name: '0010-outbox-principal',
  async up(schema) {
    await schema.alterTable('logbook.outbox_memory', (table) => {
      table.text('principal').nullable();
    });
  },
};
