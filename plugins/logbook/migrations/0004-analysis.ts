import type { Migration } from 'mortise/sdk';

/** Runs that distil knowledge, and what they found. */
export const analysis: Migration = {
  name: '0004-analysis',
  async up(schema) {
    await schema.createTable('analysis.runs', (table, columns) => {
      columns.id('run_id');
      table.text('source_type');
      table.text('source_id');
      table.text('owner_user_id');
      table.text('pipeline_version');
      table.text('status').notNullable().defaultTo('running');
      columns.json('cost_json');
      table.text('error');
      columns.time('started_at', { defaultNow: true }).notNullable();
      columns.time('ended_at');
    });
    await schema.createTable('analysis.knowledge_candidates', (table, columns) => {
      columns.id('candidate_id');
      table.bigInteger('run_id').references('run_id').inTable(schema.table('analysis.runs'));
      table.text('kind');
      table.text('title');
      table.text('content_md');
      table.text('confidence').notNullable().defaultTo('mid');
      columns.json('evidence_refs_json', '{}').notNullable();
      columns.flag('promote_suggested', false).notNullable();
      table.text('target_space');
      columns.time('created_at', { defaultNow: true }).notNullable();
    });
    await schema.raw('create index analysis_candidates_created on {analysis.knowledge_candidates} (created_at)');
  },
};
