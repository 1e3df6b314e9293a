import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expectThat, type Gate } from './gate.js';

const documents = {
  'docs/a.md': '# A\n\nAn otter swims.\n',
  'docs/b.md': '# B\n\nA badger digs.\n',
  'docs/c.txt': 'A heron waits.\n',
};

const hashes: Gate = {
  id: 'C7',
  title: 'Content Hash',
  check: async (lab) => {
    const kb = await lab.boot(documents);
    await kb.refresh();
    await lab.disturb(kb);
    const { body } = await kb.ask('GET', '/kb/sources');
    for (const { path, file_hash: stored } of body.items) {
      const expected = createHash('sha256')
        .update(await readFile(join(kb.root, path)))
        .digest('hex');
      expectThat(stored === expected, `the hash of ${path} differs`, 'Run mortise kb repair --deep.');
    }
    return `SHA-256 of ${body.items.length} files`;
  },
};

const deletion: Gate = {
  id: 'C8',
  title: 'Deleted Files',
  check: async (lab) => {
    const kb = await lab.boot({ ...documents, 'docs/test_delete.md': '# Test\n\nA lynx hides.\n' });
    await kb.refresh();
    expectThat((await kb.search('lynx')).results.length === 1, 'the file was not found before');
    await kb.remove('docs/test_delete.md');
    const { deleted_files: deleted } = await kb.refresh();
    await lab.disturb(kb);
    expectThat(deleted === 1, 'the deletion was not counted');
    const { results } = await kb.search('Test lynx');
    expectThat(!results.some(({ path }) => path === 'docs/test_delete.md'), 'the deleted file is still found');
    const rows = lab.sql(kb, "select 1 from kb_sources where path = 'docs/test_delete.md'");
    expectThat(rows.length === 0, 'a row of the deleted file remains', 'Run mortise kb repair.');
    return 'No trace of a deleted file remains';
  },
};

const stability: Gate = {
  id: 'C9',
  title: 'Rebuild Consistency',
  check: async (lab) => {
    const kb = await lab.boot(documents);
    const first = await kb.refresh({ mode: 'full' });
    const second = await kb.refresh({ mode: 'full' });
    await lab.disturb(kb);
    const { body } = await kb.ask('GET', '/kb/stats');
    const [repo] = body.repos;
    expectThat(first.total_files === second.total_files, 'two full refreshes count different numbers of files');
    expectThat(first.total_chunks === second.total_chunks, 'two full refreshes count different numbers of chunks');
    expectThat(
      repo.chunks === second.total_chunks && repo.files === second.total_files,
      'the statistics differ from the refresh',
    );
    return `${second.total_files} files and ${second.total_chunks} chunks, twice`;
  },
};

export const indexGates: readonly Gate[] = [hashes, deletion, stability];
