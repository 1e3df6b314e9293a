import type { Migration } from 'mortise/sdk';

/** What is kept of each memory to find and score it. The text itself is the ledger's. */
export const index: Migration = {
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
      // The terms are cut and folded already. `ascii` leaves all but ASCII signs alone. Where terms stand is in the
      // documents: without their places the index is a third of the size.
      await schema.raw(
        `create virtual table {logbook.memory_fts} using fts5(
           space, terms, content='', contentless_delete=1, detail=none, tokenize="ascii tokenchars '_'")`,
      );
      // Merging segments by eight instead of four takes a sixth off every store and costs searches a tenth.
      await schema.raw(`insert into {logbook.memory_fts} ({logbook.memory_fts}, rank) values ('automerge', 8)`);
      await schema.raw(
        `create virtual table {logbook.memory_vocabulary} using fts5vocab('${schema.table('logbook.memory_fts')}', 'row')`,
      );
      return;
    }
    // A tsvector has at most 1 MiB: a long text takes several parts.
    await schema.createTable('logbook.memory_fts', (table) => {
      table.bigInteger('seq').notNullable();
      table.integer('part').notNullable();
      table.specificType('terms', 'tsvector').notNullable();
      table.primary(['seq', 'part']);
    });
    await schema.raw('create index logbook_memory_fts_terms on {logbook.memory_fts} using gin (terms)');
  },
};
