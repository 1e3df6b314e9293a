import type { Fault } from './gate.js';

/** A plugin whose configuration has no limit, instead of the knowledge base. */
const unlimited = {
  manifest: { key: 'kb-unlimited' },
  definition: { key: 'kb-unlimited' },
  configSchema: { type: 'object', properties: { rerank: { type: 'object' } } },
};

const sql =
  (...statements: readonly string[]): NonNullable<Fault['disturb']> =>
  (kb, lab) => {
    for (const statement of statements) lab.sql(kb, statement);
  };

/** Notifies searchers that rows have changed. */
const revise = 'update kb_repos set revision = revision + 1';

/** One fault for each gate: damaged data or a test plugin. The gate must fail with it. */
export const faults: Readonly<Record<string, Fault>> = {
  A1: { disturb: sql('drop table kb_chunks_fts', 'create table kb_chunks_fts (f1 text)') },
  A2: { disturb: sql("update kb_index_meta set value = '99' where key = 'schema_version'") },
  A3: { disturb: sql('delete from kb_chunks where id = (select max(id) from kb_chunks)') },
  B4: {
    disturb: sql(
      `update kb_chunks set content = substr(content, 1, instr(content, 'def foo') + 200) where content like '%def foo%'`,
    ),
  },
  B5: { disturb: sql("update kb_chunks set content = '# ' || heading where id = (select max(id) from kb_chunks)") },
  B6: { disturb: sql('update kb_chunks set start_line = start_line + 1', revise) },
  C7: { disturb: sql("update kb_sources set file_hash = hex(zeroblob(32)) where path = 'docs/a.md'") },
  C8: {
    disturb: sql(
      `insert into kb_sources (repo, source_id, path, doc_type, tags, bytes, mtime, mtime_ns, ctime_ns, inode, read_at, status)
       values (1, 'src_0', 'docs/test_delete.md', 'default', '[]', 1, 0, '', '', '', 0, 'indexed')`,
    ),
  },
  C9: { disturb: sql('delete from kb_chunks where id = (select max(id) from kb_chunks)') },
  D10: { disturb: sql("update kb_sources set path = 'docs/elsewhere.md' where path = 'docs/auth.md'", revise) },
  D11: { disturb: sql("update kb_sources set doc_type = 'default'", revise) },
  D12: { disturb: sql("update kb_chunks set chunk_id = 'passage-' || id", revise) },
  E1: {
    disturb: sql('delete from kb_embeddings where content_hash in (select content_hash from kb_embeddings limit 4)'),
  },
  E2: { disturb: sql('delete from kb_embeddings') },
  E3: { disturb: sql('update kb_terms set df = df + 5', revise) },
  E4: {
    disturb: async (kb) => {
      await kb.host.control.disable('logbook', { cascade: true });
    },
  },
  E5: {
    disturb: sql('delete from kb_embeddings where content_hash in (select content_hash from kb_embeddings limit 1)'),
  },
  E6: { configured: 'kb-unlimited', boot: { extra: [unlimited] } },
};
