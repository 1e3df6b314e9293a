import { execFileSync } from 'node:child_process';
import { chmod, mkdir, readFile, rename, rm, stat, symlink, truncate, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect } from 'chai';
import { createKbHost, type KbHost } from 'mortise/contracts/kb/testing';

const word = (index: number): string => `word${String.fromCharCode(97 + (index % 26))}${index}`;
const document = (index: number): string =>
  `# Title ${index}\n\n${word(index)} is described here, and so is common text.\n`;

describe('a refresh of the knowledge base', () => {
  let kb: KbHost;
  beforeEach(async () => {
    kb = await createKbHost({ 'a.md': document(1), 'b/c.md': document(2), 'notes.txt': document(3) });
  });
  afterEach(() => kb.stop());

  const file = (): string => join(kb.host.dataDir, 'data', 'kb.db');
  const rows = (sql: string): unknown[] => {
    const database = new Database(file(), { fileMustExist: true });
    try {
      return database.prepare(sql).raw().all();
    } finally {
      database.close();
    }
  };
  /** The report of a repair. */
  const repaired = async (request: object) => {
    const { body } = await kb.ask('POST', '/kb/repair', request);
    for await (const event of events(kb, body.job.id)) if (event.ended_at !== null) return event.report;
    throw new Error('The job did not end.');
  };
  const content = () =>
    rows(`select path, status, file_hash, chunk_id, start_line, hex(content_hash) from kb_sources
          left join kb_chunks on source = kb_sources.id order by path, start_line`);

  it('indexes new files, and nothing when nothing changed', async () => {
    expect(await kb.refresh()).to.include({ total_files: 3, changed_files: 3, new_chunks: 3, errors: 0 });
    expect(await kb.refresh()).to.include({ total_files: 3, changed_files: 0, new_chunks: 0, touched_files: 0 });
    const first = await kb.refresh({ mode: 'full' });
    const before = content();
    const second = await kb.refresh({ mode: 'full' });
    expect(second).to.include({ total_files: first.total_files, total_chunks: first.total_chunks, new_chunks: 0 });
    expect(content()).to.deep.equal(before);
  });

  it('keeps the index to the owner of the process, one of an earlier version too', async function rights() {
    if (process.platform === 'win32') this.skip();
    const rightsOf = async () => ((await stat(file())).mode & 0o777).toString(8);
    await kb.refresh();
    expect(await rightsOf()).to.equal('600');
    await chmod(file(), 0o644);
    await kb.host.control.disable('kb');
    await kb.host.control.enable('kb');
    await kb.refresh();
    expect(await rightsOf()).to.equal('600');
  });

  it('replaces a changed file and deletes a vanished one, leaving no row of it', async () => {
    await kb.refresh();
    await kb.write('a.md', '# New\n\nzebra\n');
    await kb.remove('b');
    expect(await kb.refresh()).to.include({ changed_files: 1, deleted_files: 1, new_chunks: 1, deleted_chunks: 2 });
    expect((await kb.search('zebra')).results).to.have.length(1);
    expect((await kb.search(word(2))).results.map(({ path }) => path)).not.to.include('b/c.md');
    expect(rows("select * from kb_sources where path = 'b/c.md'")).to.deep.equal([]);
    expect(rows(`select * from kb_terms where term like '${word(2)}%'`)).to.deep.equal([]);
    expect(rows('select count(*) from kb_chunks_fts_docsize')).to.deep.equal(rows('select count(*) from kb_chunks'));
    await kb.remove('a.md');
    expect(await kb.refresh({ mode: 'full' })).to.include({ deleted_files: 1, total_files: 1 });
  });

  it('keeps the terms of long words in letters beyond the basic plane', async () => {
    // Mathematical and Gothic letters of any length: a term that is cut may end within a pair.
    const words = (round: number): string =>
      Array.from({ length: 130 }, (_, length) => `x${'\u{10330}'.repeat(length)}${'\u{10428}'.repeat(round)}`).join(
        ' ',
      );
    for (let round = 0; round < 3; round += 1) {
      await kb.write('long.md', `# Long ${round}\n\n${words(round)} \u{10330}\n`);
      await kb.write(`long-${round}.md`, `# Long\n\n${words(round + 1)}\n`);
      expect(await kb.refresh()).to.include({ errors: 0 });
    }
    expect(rows('select count(*) from kb_terms where df < 1')).to.deep.equal([[0]]);
    const { checks } = (await repaired({ check: true })) as { checks: { name: string; found: number }[] };
    expect(checks.filter(({ found }) => found > 0)).to.deep.equal([]);
  });

  it('touches a file whose time alone has changed', async () => {
    await kb.refresh();
    const ids = rows('select id from kb_chunks');
    await utimes(join(kb.root, 'a.md'), new Date('2020-01-01'), new Date('2020-01-01'));
    expect(await kb.refresh()).to.include({ touched_files: 1, changed_files: 0, new_chunks: 0 });
    expect(rows('select id from kb_chunks')).to.deep.equal(ids);
    const [hit] = (await kb.search(word(1))).results;
    expect(hit?.mtime).to.equal('2020-01-01T00:00:00.000Z');
    expect(hit?.explanation?.recency_boost).to.be.closeTo(1, 1e-6);
  });

  it('reports files that cannot be indexed on every refresh until they can', async () => {
    await kb.write('bad.md', Uint8Array.from([0x61, 0x62, 0xff, 0x63]));
    await kb.write('binary.md', Uint8Array.from([0x61, 0, 0x62]));
    await kb.write('wide.md', Buffer.from('\ufeffgiraffe', 'utf16le'));
    await kb.write('line\nbreak.md', 'x');
    execFileSync('mkfifo', [join(kb.root, 'pipe.md')]);
    await symlink('loop.md', join(kb.root, 'loop.md'));
    await symlink('b', join(kb.root, 'linked'));
    for (let round = 0; round < 3; round += 1) {
      const { failures, errors, skipped_files: skipped } = await kb.refresh();
      const reasons = Object.fromEntries(failures.map(({ path, reason, detail }) => [path, `${reason}: ${detail}`]));
      expect(reasons['bad.md']).to.equal('invalid_utf8: not UTF-8 at byte 2');
      expect(reasons['binary.md']).to.match(/^binary/);
      expect(reasons['line\nbreak.md']).to.match(/^bad_name/);
      expect(reasons['pipe.md']).to.match(/^unreadable/);
      expect(reasons['loop.md']).to.equal('symlink: links are not followed');
      expect(reasons.linked).to.equal('symlink: links are not followed');
      expect([errors, skipped]).to.deep.equal([2, 4]);
    }
    expect((await kb.search('giraffe')).results[0]?.path).to.equal('wide.md');
    await kb.write('bad.md', 'elephant');
    await kb.refresh();
    expect((await kb.search('elephant')).results[0]?.path).to.equal('bad.md');
    const { body } = await kb.ask('GET', '/kb/sources?status=skipped');
    expect(body.items.map(({ path }: { path: string }) => path)).to.deep.equal([
      'binary.md',
      'line\nbreak.md',
      'linked',
      'loop.md',
    ]);
  });

  it('warns of front matter that is broken, and indexes it as content', async () => {
    const broken: Readonly<Record<string, readonly [text: string, warning: RegExp]>> = {
      'list.md': ['---\ntitle: X\ntags: [stoat\n---\n# A\n\ntext\n', /cannot be parsed \(.* at line \d+/],
      'nested.md': ['---\ntitle: stoat: Y\n---\n# A\n', /cannot be parsed \(Nested mappings .* at line 2,/],
      'toml.md': ['+++\ntitle = stoat\n+++\n# A\n', /cannot be parsed \(/],
      'open.md': ['---\ntitle: stoat\n\n# A\n', /is not closed/],
      'scalar.md': ['---\nstoat\n---\n# A\n', /not a mapping/],
    };
    for (const [path, [text]] of Object.entries(broken)) await kb.write(path, text);
    await kb.write('rule.md', '---\n\nA stoat below a rule.\n');
    const { warnings } = await kb.refresh();
    for (const [path, [, expected]] of Object.entries(broken))
      expect(warnings.filter((one) => one.startsWith(`${path}: `)).join('\n'), path).to.match(expected);
    expect(warnings).to.have.length(Object.keys(broken).length);
    const { results } = await kb.search('stoat');
    expect(results.map(({ path }) => path)).to.have.members([...Object.keys(broken), 'rule.md']);
  });

  it('skips a file that is too large without reading it', async () => {
    await kb.write('huge.md', '');
    await truncate(join(kb.root, 'huge.md'), 200 * 1024 * 1024);
    const { failures, duration_ms: duration } = await kb.refresh();
    expect(failures).to.deep.include({
      path: 'huge.md',
      status: 'skipped',
      reason: 'too_large',
      detail: 'larger than 5242880 bytes',
    });
    expect(duration).to.be.lessThan(5_000);
  });

  it('keeps an unreadable file as stale, and a file that changed since is marked in hits', async () => {
    await kb.refresh();
    await kb.write('a.md', `${document(1)}more\n`);
    expect((await kb.search(word(1))).results[0]?.stale).to.equal(true);
    await kb.refresh();
    expect((await kb.search(word(1))).results[0]?.stale).to.equal(undefined);
    // The administrator can read every file.
    if (process.getuid?.() === 0) return;
    await chmod(join(kb.root, 'a.md'), 0);
    const { failures } = await kb.refresh({ mode: 'verify' });
    expect(failures).to.have.length(1);
    expect((await kb.search(word(1))).results[0]?.stale).to.equal(true);
    await chmod(join(kb.root, 'a.md'), 0o644);
    await kb.refresh();
    expect((await kb.search(word(1))).results[0]?.stale).to.equal(undefined);
  });

  it('never takes a vanished folder for deleted files', async () => {
    await kb.refresh();
    await rename(kb.root, `${kb.root}-away`);
    const { status, body } = await kb.ask('POST', '/kb/refresh', { wait: true });
    expect([status, body.error.code]).to.deep.equal([503, 'repo_unavailable']);
    await rename(`${kb.root}-away`, kb.root);
    expect((await kb.search(word(1))).results).to.have.length(1);
    expect(await kb.refresh()).to.include({ total_files: 3, deleted_files: 0 });
  });

  it('keeps what it knows of a folder that is suddenly empty, until a full refresh', async () => {
    await kb.refresh();
    await rename(kb.root, `${kb.root}-away`);
    // A mount point without its disk, and what a failed checkout leaves.
    await mkdir(join(kb.root, '.git'), { recursive: true });
    for (const request of [{}, { mode: 'verify' }, { paths: ['b'] }]) {
      const report = await kb.refresh(request);
      expect(report, JSON.stringify(request)).to.include({ total_files: 3, deleted_files: 0 });
      expect(report.warnings.join(), JSON.stringify(request)).to.match(/no file at all.*kb refresh --full/);
    }
    expect((await kb.search(word(1))).results[0]).to.deep.include({ path: 'a.md', stale: true });
    await rm(kb.root, { recursive: true });
    await rename(`${kb.root}-away`, kb.root);
    expect(await kb.refresh()).to.deep.include({ total_files: 3, deleted_files: 0, warnings: [] });
    for (const path of ['a.md', 'b', 'notes.txt']) await kb.remove(path);
    expect(await kb.refresh({ mode: 'full' })).to.deep.include({ total_files: 0, deleted_files: 3, warnings: [] });
    expect(await kb.refresh()).to.deep.include({ total_files: 0, warnings: [] });
  });

  it('deletes the last indexed file of a folder that has other files', async () => {
    await kb.write('other/code.ts', 'export {};');
    await kb.refresh();
    for (const path of ['a.md', 'b', 'notes.txt']) await kb.remove(path);
    expect(await kb.refresh()).to.deep.include({ total_files: 0, deleted_files: 3, warnings: [] });
  });

  it('indexes the files beside a link that leads to itself', async () => {
    await symlink('selfloop', join(kb.root, 'selfloop'));
    await symlink('loop.md', join(kb.root, 'loop.md'));
    const report = await kb.refresh();
    expect(report).to.include({ total_files: 3, errors: 0 });
    expect(JSON.stringify(report)).to.include('loop.md');
  });

  it('refreshes only the paths it is given', async () => {
    await kb.refresh();
    await kb.write('a.md', 'changed first');
    await kb.write('b/c.md', 'changed second');
    await kb.remove('notes.txt');
    expect(await kb.refresh({ paths: ['b'] })).to.include({ changed_files: 1, deleted_files: 0 });
    expect((await kb.search('second')).results).to.have.length(1);
    expect((await kb.search('first')).results).to.have.length(0);
    expect(await kb.refresh({ paths: ['./'] })).to.include({ changed_files: 1, deleted_files: 1 });
    for (const path of ['../x', '/etc', 'b/../../x']) {
      const { status, body } = await kb.ask('POST', '/kb/refresh', { paths: [path] });
      expect([status, body.error.code]).to.deep.equal([400, 'invalid_request']);
    }
  });

  it('honours ignore rules, excluded folders and names that differ in case', async () => {
    await kb.write('.gitignore', 'secret/\n*.draft.md\n!keep.draft.md\n');
    for (const path of [
      'secret/x.md',
      'x.draft.md',
      'keep.draft.md',
      'node_modules/y.md',
      '.hidden/z.md',
      'cabin/ok.md',
      'A.md',
    ])
      await kb.write(path, 'otter');
    await kb.refresh();
    const { results } = await kb.search('otter', { top_k: 50 });
    expect(results.map(({ path }) => path).sort()).to.deep.equal(['A.md', 'cabin/ok.md', 'keep.draft.md']);
  });

  it('builds a damaged, emptied or incomplete index again and says so', async () => {
    await kb.refresh();
    const damages: readonly (readonly [string, () => Promise<void>])[] = [
      ['a dropped table', async () => void run(file(), 'drop table kb_chunks')],
      ['a dropped search table', async () => void run(file(), 'drop table kb_chunks_fts')],
      ['noise', () => writeFile(file(), Buffer.alloc(20_000, 7))],
      ['an empty file', () => truncate(file(), 0)],
    ];
    for (const [name, damage] of damages) {
      await kb.ask('POST', '/kb/repair', { check: true });
      await damage();
      const report = await kb.refresh({ mode: 'full' });
      expect(report, name).to.include({ total_files: 3, total_chunks: 3 });
      expect(report.warnings, name).to.have.length(1);
      expect((await kb.refresh()).warnings, `told once: ${name}`).to.deep.equal([]);
      expect((await kb.search(word(2))).results, name).to.have.length(1);
    }
  });

  it('cites lines that move with an edit above them', async () => {
    await kb.write('a.md', `# One\n\n${'alpha '.repeat(60)}\n\n# Two\n\n${'omega '.repeat(60)}\n`);
    await kb.refresh();
    const [hit] = (await kb.search('omega')).results;
    const ref = hit?.evidence_ref ?? '';
    const resolve = async () => (await kb.ask('GET', `/kb/evidence?ref=${encodeURIComponent(ref)}`)).body;
    expect(await resolve()).to.include({ state: 'current', start_line: 5 });
    const before = await readFile(join(kb.root, 'a.md'), 'utf8');
    await kb.write('a.md', `${'new line\n'.repeat(10)}\n${before}`);
    await kb.refresh();
    expect(await resolve()).to.include({ state: 'moved', start_line: 16, lines: `# Two\n\n${'omega '.repeat(60)}` });
    await kb.write('a.md', '# Two\n\nother\n');
    await kb.refresh();
    expect((await resolve()).state).to.equal('changed');
    await kb.remove('a.md');
    await kb.refresh();
    expect((await resolve()).state).to.equal('missing');
    const { status, body } = await kb.ask('GET', '/kb/evidence?ref=kb:x:../../etc/passwd%23L1-L2');
    expect([status, body.error.code]).to.deep.equal([400, 'invalid_evidence_ref']);
  });

  it('finds nothing wrong after a repair, and repairs what was wrong', async () => {
    await kb.refresh();
    run(file(), 'delete from kb_chunks where id = (select min(id) from kb_chunks)');
    const found = (report: { checks: { name: string; found: number }[] }) =>
      report.checks.filter((check) => check.found > 0).map(({ name }) => name);
    expect(found(await repaired({ check: true }))).to.include('search_rows');
    await repaired({});
    expect(found(await repaired({ check: true }))).to.deep.equal([]);
  });

  it('refuses a second refresh of a repo while one is running', async () => {
    for (let index = 0; index < 300; index += 1) await kb.write(`many/${index}.md`, document(index));
    const first = await kb.ask('POST', '/kb/refresh', {});
    const second = await kb.ask('POST', '/kb/refresh', {});
    expect([first.status, second.status, second.body.error.code]).to.deep.equal([202, 409, 'refresh_running']);
    expect(second.body.error.details.job_id).to.equal(first.body.job.id);
    const states: string[] = [];
    for await (const job of events(kb, first.body.job.id)) states.push(job.state);
    expect(states.at(-1)).to.equal('done');
  });
});

function run(file: string, sql: string): void {
  const database = new Database(file, { fileMustExist: true });
  database.exec(sql);
  database.close();
}

/** The events of a job until it has ended. */
async function* events(kb: KbHost, id: string) {
  const response = await kb.host.fetch(`/kb/jobs/${id}/events`);
  let text = '';
  for await (const bytes of response.body ?? []) {
    text += Buffer.from(bytes).toString('utf8');
    const parts = text.split('\n\n');
    text = parts.pop() ?? '';
    for (const part of parts) {
      const data = /^data: (.*)$/m.exec(part)?.[1];
      if (data !== undefined) yield JSON.parse(data);
    }
  }
}
