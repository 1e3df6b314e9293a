import { spawn } from 'node:child_process';
import { chmod, chown, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { expect } from 'chai';
import { rounds, seededRandom } from 'mortise/sdk/testing';

const process_ = fileURLToPath(new URL('./refresh-process.js', import.meta.url));
/** Another user, because root can read every file. */
const user =
  process.getuid?.() === 0
    ? { uid: 65_534, gid: 65_534 }
    : { uid: process.getuid?.() ?? -1, gid: process.getgid?.() ?? -1 };
const kills = rounds(8, 100);
const files = rounds(400, 2_000);

const text = (index: number, revision: number): string =>
  `# Document ${index}\n\nRevision ${revision} of document ${index} has words such as word${index % 37}.\n\n## More\n\n${'filler '.repeat(60)}\n`;

describe('a refresh that is killed', function () {
  this.timeout(rounds(120_000, 1_800_000));

  it('leaves every file old or new, and the next one completes it', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'mortise-kb-kill-'));
    try {
      const root = join(folder, 'repo');
      await mkdir(root);
      const write = async (revision: number): Promise<void> => {
        for (let index = 0; index < files; index += 1)
          await writeFile(join(root, `${index}.md`), text(index, revision));
      };
      const random = seededRandom(7);
      const index = join(folder, 'kb.db');
      for (let round = 1; round <= kills; round += 1) {
        await write(round);
        await refresh(root, index, Math.floor(random() * 12) * rounds(20, 100));
        expect(inspect(index), `round ${round}`).to.deep.equal({ integrity: 'ok', mixed: 0, orphans: 0 });
      }
      await refresh(root, index);
      const fresh = join(folder, 'fresh.db');
      await refresh(root, fresh);
      expect(rows(index)).to.deep.equal(rows(fresh));
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});

describe('a refresh on a full disk', () => {
  it('fails without harm to the index, and the next one completes it', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'mortise-kb-full-'));
    try {
      const root = join(folder, 'repo');
      await mkdir(root);
      const index = join(folder, 'kb.db');
      for (let at = 0; at < 50; at += 1) await writeFile(join(root, `${at}.md`), text(at, 1));
      await refresh(root, index);
      for (let at = 50; at < 500; at += 1) {
        await writeFile(join(root, `${at}.md`), `${text(at, 1)}${'words that fill the disk '.repeat(600)}\n`);
      }
      const failed = await refreshWithin(4_096, root, index);
      expect(failed).to.include('index_unavailable');
      expect(query(index, 'pragma integrity_check')).to.deep.equal([['ok']]);
      await refresh(root, index);
      const fresh = join(folder, 'fresh.db');
      await refresh(root, fresh);
      expect(rows(index)).to.deep.equal(rows(fresh));
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});

describe('a file that another user may not read', () => {
  it('keeps its chunks as stale until it can be read again', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'mortise-kb-unreadable-'));
    try {
      const root = join(folder, 'repo');
      await mkdir(root);
      const file = join(root, 'a.md');
      await writeFile(file, text(1, 1));
      const store = join(folder, 'index');
      await mkdir(store);
      for (const path of [folder, root, file, store]) await chown(path, user.uid, user.gid);
      const index = join(store, 'kb.db');
      const state = () =>
        query(index, 'select status, reason, count(*) from kb_sources join kb_chunks on source = kb_sources.id');
      await refresh(root, index, undefined, user);
      await chmod(file, 0);
      await refresh(root, index, undefined, user);
      expect(state()).to.deep.equal([['stale', 'unreadable', 2]]);
      await chmod(file, 0o644);
      await refresh(root, index, undefined, user);
      expect(state()).to.deep.equal([['indexed', null, 2]]);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});

/** Refreshes in a process whose files cannot grow beyond a size, KiB. @returns what it wrote to stderr when it failed */
function refreshWithin(kib: number, root: string, index: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const command = `ulimit -f ${kib}; exec "$0" "$@"`;
    const child = spawn('bash', ['-c', command, process.execPath, process_, root, index, '-1'], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let errors = '';
    child.stderr.on('data', (bytes: Buffer) => (errors += bytes.toString('utf8')));
    child.on('error', reject);
    child.on('close', (code) => (code === 0 ? reject(new Error('The disk was not full.')) : resolve(errors)));
  });
}

/** Refreshes in a process of its own, which is killed once it has read this many files. */
function refresh(root: string, index: string, killAfter?: number, as: Partial<typeof user> = {}): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [process_, root, index, String(killAfter ?? -1)], {
      ...as,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    child.on('error', reject);
    child.on('exit', (code, signal) => {
      const isExpected = killAfter === undefined ? code === 0 : code === 0 || signal === 'SIGKILL';
      if (isExpected) resolve();
      else reject(new Error(`The refresh ended with ${code ?? signal}.`));
    });
  });
}

function query(file: string, sql: string): readonly unknown[][] {
  const database = new Database(file);
  try {
    return database.prepare(sql).raw().all();
  } finally {
    database.close();
  }
}

function inspect(file: string) {
  const count = (sql: string): number => Number(query(file, `select count(*) from ${sql}`)[0]?.[0]);
  const tables = query(file, "select 1 from sqlite_schema where name = 'kb_chunks_fts'").length;
  if (tables === 0) return { integrity: 'ok', mixed: 0, orphans: 0 };
  return {
    integrity: query(file, 'pragma integrity_check')[0]?.[0],
    // Every document has two chunks.
    mixed: count(`(select source from kb_chunks group by source having count(*) <> 2)`),
    orphans:
      count('kb_chunks where id not in (select id from kb_chunks_fts_docsize)') +
      count('kb_chunks_fts_docsize where id not in (select id from kb_chunks)'),
  };
}

function rows(file: string): unknown {
  const chunks = query(
    file,
    'select path, file_hash, chunk_id, content from kb_sources join kb_chunks on source = kb_sources.id order by 1, 3',
  );
  return [chunks, query(file, 'select term, df from kb_terms order by 1')];
}
