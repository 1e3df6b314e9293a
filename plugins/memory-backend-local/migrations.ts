import type { Migration } from 'mortise/sdk';

/** The index of memories; their texts are in the ledger. */
const index: Migration = {
  name: '0001-index',
  async up(schema) {
    await schema.createTable('logbook.memory_documents', (table, columns) => {
      columns.id('seq');
      table.text('memory_id').notNullable();
      table.text('space').notNullable();
      table.integer('length').notNullable();
      table.binary('postings').notNullable();
      table.text('analysis').notNullable();
    });
    await schema.raw('create unique index logbook_memory_documents_id on {logbook.memory_documents} (memory_id)');
    if (schema.dialect === 'sqlite') {
      // The terms are analysed already: `ascii` changes only ASCII signs. Their positions are in the documents; without
      // them the index is a third of the size.
      await schema.raw(
        `create virtual table {logbook.memory_fts} using fts5(
           space, terms, content='', contentless_delete=1, detail=none, tokenize="ascii tokenchars '_'")`,
      );
      // Merging eight segments instead of four makes stores a sixth faster and searches a tenth slower.
      await schema.raw(`insert into {logbook.memory_fts} ({logbook.memory_fts}, rank) values ('automerge', 8)`);
      await schema.raw(
        `create virtual table {logbook.memory_vocabulary} using fts5vocab('${schema.table('logbook.memory_fts')}', 'row')`,
      );
      return;
    }
    // A tsvector is limited to 1 MiB: a long text has several parts.
    await schema.createTable('logbook.memory_fts', (table) => {
      table.bigInteger('seq').notNullable();
      table.integer('part').notNullable();
      table.specificType('terms', 'tsvector').notNullable();
      table.primary(['seq', 'part']);
    });
    await schema.raw('create index logbook_memory_fts_terms on {logbook.memory_fts} using gin (terms)');
  },
};

/** One vector for each memory and embedder. */
const vectors: Migration = {
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

/** A merge that is requested while nothing is stored needs two segments of equal size; one by a store still needs eight. */
const mergePairs: Migration = {
  name: '0003-merge-pairs',
  async up(schema) {
    if (schema.dialect !== 'sqlite') return;
    await schema.raw(`insert into {logbook.memory_fts} ({logbook.memory_fts}, rank) values ('usermerge', 2)`);
  },
};

/** Finds the neighbours of a memory in its conversation. Ids sort by the time of their creation. */
const conversations: Migration = {
  name: '0004-conversations',
  async up(schema) {
    await schema.alterTable('logbook.memory_documents', (table) => void table.text('conversation'));
    await schema.raw(
      `create index logbook_memory_documents_conversation on {logbook.memory_documents} (conversation, memory_id, seq)
       where conversation is not null`,
    );
  },
};

export const migrations: readonly Migration[] = [index, vectors, mergePairs, conversations];
