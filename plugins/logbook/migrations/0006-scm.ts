import type { Migration } from 'mortise/sdk';

/** Patches of source control that evidence points at. */
export const scm: Migration = {
  name: '0006-scm',
  async up(schema) {
    await schema.createTable('scm.patch_blobs', (table, columns) => {
      columns.id('blob_id');
      table.text('source_type');
      table.text('source_id');
      table.text('uri');
      table.text('evidence_uri');
      table.text('sha256');
      table.bigInteger('size_bytes');
      table.text('format').notNullable().defaultTo('diff');
      columns.json('meta_json', '{}').notNullable();
      columns.time('created_at', { defaultNow: true }).notNullable();
      columns.time('updated_at', { defaultNow: true }).notNullable();
    });
    await schema.raw(
      'create unique index scm_patch_blobs_source on {scm.patch_blobs} (source_type, source_id, sha256)',
    );
  },
};
