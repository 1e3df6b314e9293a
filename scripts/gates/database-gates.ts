import { expectThat, type Gate } from './gate.js';

const documents = {
  'docs/adr/tokens.md': '# Tokens\n\nA refresh token is rotated with every use.\n',
  'docs/guide/start.md': '# Start\n\nThe server starts with one command.\n',
  'README.md': '# Project\n\nA project about tokens.\n',
};

const fts5: Gate = {
  id: 'A1',
  title: 'FTS5 Availability Check',
  check: async (lab) => {
    const kb = await lab.boot(documents);
    await kb.refresh();
    await lab.disturb(kb);
    const [row] = lab.sql(kb, "select sql from sqlite_schema where name = 'kb_chunks_fts'");
    expectThat(
      /using fts5/i.test(String(row?.[0])),
      'the search table is not an FTS5 table',
      'Install the dependencies again (npm ci).',
    );
    const { body } = await kb.ask('GET', '/kb/health');
    expectThat(
      body.checks.fts5 === true,
      'the health check reports no FTS5',
      'Install the dependencies again (npm ci).',
    );
    return 'FTS5 available';
  },
};

const migrations: Gate = {
  id: 'A2',
  title: 'Migration Idempotence',
  check: async (lab) => {
    const kb = await lab.boot(documents);
    await kb.refresh();
    const version = () => String(lab.sql(kb, "select value from kb_index_meta where key = 'schema_version'")[0]?.[0]);
    const first = version();
    await lab.disturb(kb);
    await kb.refresh();
    const { body } = await kb.ask('GET', '/kb/stats');
    expectThat(version() === first, `the schema version changed from ${first} to ${version()}`);
    expectThat(String(body.schema_version) === first, 'the reported schema version differs');
    return `Migrations are idempotent (schema version ${first})`;
  },
};

const rollback: Gate = {
  id: 'A3',
  title: 'Rollback: Delete and Rebuild',
  check: async (lab) => {
    const kb = await lab.boot(documents);
    await kb.refresh();
    const rows = () =>
      JSON.stringify(
        lab.sql(
          kb,
          'select path, chunk_id, content from kb_sources join kb_chunks on source = kb_sources.id order by 1, 2',
        ),
      );
    const before = rows();
    for (const table of ['kb_chunks_fts', 'kb_chunks', 'kb_sources', 'kb_embeddings', 'kb_index_meta']) {
      lab.sql(kb, `drop table if exists ${table}`);
    }
    const report = await kb.refresh({ mode: 'full' });
    await lab.disturb(kb);
    expectThat(report.warnings.length > 0, 'the rebuild was not reported');
    expectThat(rows() === before, 'the rebuilt index differs from the previous one', 'Run mortise kb repair --deep.');
    expectThat((await kb.search('rotated')).results.length === 1, 'the rebuilt index does not find its documents');
    return 'Index rebuilt after its tables were dropped';
  },
};

export const databaseGates: readonly Gate[] = [fts5, migrations, rollback];
