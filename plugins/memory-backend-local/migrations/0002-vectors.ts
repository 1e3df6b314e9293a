import type { Migration } from 'mortise/sdk';

/** What embedders made of the texts: one vector for each memory and embedder. */
export const vectors: Migration = {
  name: '0002-vectors',
  async up(schema) {
    await schema.createTable('logbook.memory_vectors', (table) => {
      table.text('memory_id').notNullable();
      table.text('embedder').notNullable();
      table.text('version').notNullable();
      table.binary('vector').notNullable();
      table.primary(['memory_id', 'embedder']);
    });
  },
};
